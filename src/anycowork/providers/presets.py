"""Well-known model servers: their addresses, and where to get their keys. Data only."""

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
    Preset("openai", "OpenAI", "https://api.openai.com/v1", "https://platform.openai.com/api-keys"),
    Preset(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com",
        "https://console.anthropic.com/settings/keys",
        kind="anthropic",
    ),
    Preset(
        "gemini",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://aistudio.google.com/apikey",
    ),
    Preset("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "https://openrouter.ai/settings/keys"),
    Preset("mistral", "Mistral", "https://api.mistral.ai/v1", "https://console.mistral.ai/api-keys"),
    Preset("groq", "Groq", "https://api.groq.com/openai/v1", "https://console.groq.com/keys"),
    Preset("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "https://platform.deepseek.com/api_keys"),
    Preset("xai", "xAI", "https://api.x.ai/v1", "https://console.x.ai"),
    Preset("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
    Preset("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
    Preset("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    Preset("vllm", "vLLM", "http://127.0.0.1:8000/v1"),
)


def find_preset(name: str) -> Preset | None:
    return next((preset for preset in PRESETS if preset.name == name), None)
