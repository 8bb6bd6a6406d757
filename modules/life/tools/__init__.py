"""Tools of module life. Only the tool-gateway imports this package."""

from .day import PlanDay
from .ledger import AddLedgerEntry, ListLedgerEntries, SummarizeLedger
from .reminders import CancelReminder, ChangeReminder, CreateReminder, ListReminders

__all__ = [
    "AddLedgerEntry", "CancelReminder", "ChangeReminder", "CreateReminder", "ListLedgerEntries",
    "ListReminders", "PlanDay", "SummarizeLedger",
]  # fmt: skip
