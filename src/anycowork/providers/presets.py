"""Well-known model servers: their addresses, and where to get their keys. Data only."""

from urllib.parse import urlsplit

from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.providers.config import Kind


@value
class Preset:
    """`key_url` is the page where a person gets a key; None: it runs on the own machine and needs none."""

    name: str
    title: str
    base_url: str
    key_url: str | None = None
    kind: Kind = "openai"
    native_calls: bool = False

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "title": self.title,
            "kind": self.kind,
            "base_url": self.base_url,
            "key_url": self.key_url,
            "needs_key": self.key_url is not None,
        }


PRESETS = (
    Preset("openai", "OpenAI", "https://api.openai.com/v1", "https://platform.openai.com/api-keys", native_calls=True),
    Preset(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com",
        "https://console.anthropic.com/settings/keys",
        kind="anthropic",
        native_calls=True,
    ),
    Preset(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://aistudio.google.com/apikey",
        native_calls=True,
    ),
    Preset(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "https://openrouter.ai/settings/keys",
        native_calls=True,
    ),
    Preset("mistral", "Mistral", "https://api.mistral.ai/v1", "https://console.mistral.ai/api-keys", native_calls=True),
    Preset("groq", "Groq", "https://api.groq.com/openai/v1", "https://console.groq.com/keys", native_calls=True),
    Preset(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "https://platform.deepseek.com/api_keys",
        native_calls=True,
    ),
    Preset("xai", "xAI", "https://api.x.ai/v1", "https://console.x.ai", native_calls=True),
    Preset("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
    Preset("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    Preset("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    Preset("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
)


def find_preset(name: str) -> Preset | None:
    return next((preset for preset in PRESETS if preset.name == name), None)


def calls_natively(kind: str, base_url: str | None) -> bool:
    """Whether the models at this address are known to call tools through its own interface."""
    presets = [preset for preset in PRESETS if preset.native_calls and preset.kind == kind]
    if base_url is None:
        return any(preset.name == kind for preset in presets)
    return any(urlsplit(base_url).netloc == urlsplit(preset.base_url).netloc for preset in presets)
