"""Sends messages as plain e-mail, through the mail server that an admin named."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from enum import StrEnum

from anycowork.domain.notifications import DeliveryOutcome, NotificationMessage
from anycowork.domain.values import value

SECONDS = 15.0
_WHOLE_SECONDS = 45.0
_ABSENT = DeliveryOutcome(
    "This server sends no e-mail: an admin names a mail server in the setting 'notifications' (docs/settings.md)."
)


class MailSecurity(StrEnum):
    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"

    @property
    def usual_port(self) -> int:
        return {MailSecurity.STARTTLS: 587, MailSecurity.TLS: 465, MailSecurity.NONE: 25}[self]


@value
class MailServer:
    host: str
    port: int
    security: MailSecurity
    sender: str
    user: str | None = None
    password: str | None = None
    ca_file: str | None = None


async def send_email(server: MailServer | None, address: str, message: NotificationMessage) -> DeliveryOutcome:
    """Sends it once. Nothing of it is anybody's text, and the address was checked: no header can be added."""
    if server is None:
        return _ABSENT
    try:
        async with asyncio.timeout(_WHOLE_SECONDS):
            await asyncio.to_thread(_deliver, server, address, composed(server.sender, address, message))
    except TimeoutError:
        return DeliveryOutcome(f"The mail server {server.host}:{server.port} did not answer in time.")
    except smtplib.SMTPResponseException as error:
        return DeliveryOutcome(f"The mail server {server.host}:{server.port} did not take it (code {error.smtp_code}).")
    except smtplib.SMTPRecipientsRefused as error:
        codes = ", ".join(str(code) for code, _ in error.recipients.values())
        return DeliveryOutcome(f"The mail server {server.host}:{server.port} refused the address (code {codes}).")
    except (smtplib.SMTPException, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        return DeliveryOutcome(f"No e-mail could be sent through {server.host}:{server.port} ({reason}).")
    return DeliveryOutcome()


def composed(sender: str, address: str, message: NotificationMessage) -> EmailMessage:
    mail = EmailMessage(policy=SMTP)
    mail["From"] = f"AnyCowork <{sender}>"
    mail["To"] = address
    mail["Subject"] = message.title
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<{message.id}@{sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    lines = [f"- {kind.value}: {url}" for kind, _, url in message.waits] or [message.url]
    note = "You decide on the page. This message holds nothing of what it is about."
    mail.set_content("\n".join([f"{message.title}.", "", *lines, "", note, ""]))
    return mail


def _deliver(server: MailServer, address: str, mail: EmailMessage) -> None:
    """Blocking. Raises: SMTPException, OSError."""
    context = ssl.create_default_context()
    if server.ca_file is not None:
        context.load_verify_locations(server.ca_file)
    if server.security is MailSecurity.TLS:
        client: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=SECONDS, context=context)
    else:
        client = smtplib.SMTP(server.host, server.port, timeout=SECONDS)
    with client:
        if server.security is MailSecurity.STARTTLS:
            client.starttls(context=context)  # raises if the server offers none: nothing goes on in plain
        if server.user and server.password and server.security is not MailSecurity.NONE:
            client.login(server.user, server.password)
        client.send_message(mail, server.sender, [address])
