"""CloudEvents 1.0 in the JSON format: the outside of every message Fencepost sends to a broker.

Envelopes hold ids, never names or text: a topic is read by more people than a database is. Unknown
attributes are ignored when reading, as the CloudEvents specification asks of a consumer.
"""

from typing import Final, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

CONTENT_TYPE: Final = "application/cloudevents+json; charset=UTF-8"


class Envelope(BaseModel):
    """The required attributes, and those optional ones that we write.

    `id` is unique within `source` and stays the same when a message is sent again, so a reader that
    must not act twice keeps `(consumer, id)`.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    specversion: Literal["1.0"] = "1.0"
    id: UUID
    source: str = Field(min_length=1)
    type: str = Field(min_length=1)
    subject: str | None = None
    time: AwareDatetime
    datacontenttype: Literal["application/json"] = "application/json"
