"""Settings: where a value comes from, what does not fit, and that secrets stay secret."""

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anycowork.config.errors import line_of
from anycowork.config.loading import load_settings, save_settings, unknown_keys, unused_variables
from anycowork.config.settings import CHANGEABLE, KNOBS, BadSettings, Settings
from anycowork.domain.network import is_loopback
from support.spec import proves


def load(data: Path, *, config: str | None = None, environ: dict[str, str] | None = None, **flags: object) -> Settings:
    if config is not None:
        data.mkdir(parents=True, exist_ok=True)
        (data / "config.toml").write_text(config)
    return load_settings({"data_dir": data, **flags}, environ or {}, cwd=data)


@proves("SEC-1")
def test_by_default_only_this_machine_can_reach_the_server(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.host, settings.port) == ("127.0.0.1", 8484)
    assert is_loopback(settings.host)


def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default(tmp_path: Path) -> None:
    config, environ = (
        "port = 1001\nmax_steps = 1001\nmax_faults = 1001\n",
        {
            "ANYCOWORK_PORT": "1002",
            "ANYCOWORK_MAX_STEPS": "1002",
        },
    )
    settings = load(tmp_path, config=config, environ=environ, port=1003)
    assert (settings.port, settings.max_steps, settings.max_faults, settings.turn_seconds) == (1003, 1002, 1001, 300)


def test_a_flag_that_was_not_given_and_an_empty_variable_decide_nothing(tmp_path: Path) -> None:
    settings = load(tmp_path, config='model = "a/b"', environ={"ANYCOWORK_MODEL": ""}, model=None)
    assert settings.model == "a/b"


def test_the_data_folder_can_be_named_by_flag_or_environment(tmp_path: Path) -> None:
    environ = {"ANYCOWORK_DATA_DIR": str(tmp_path / "two")}
    assert load_settings({}, environ, cwd=tmp_path).data_dir == (tmp_path / "two").resolve()
    assert load_settings({"data_dir": "one"}, environ, cwd=tmp_path).data_dir == (tmp_path / "one").resolve()


def test_a_relative_workspace_starts_from_where_the_person_stands(tmp_path: Path) -> None:
    settings = load_settings({"data_dir": tmp_path / "data", "workspace": "notes"}, {}, cwd=tmp_path)
    assert settings.workspace == (tmp_path / "notes").resolve()


def test_words_of_the_environment_become_numbers_booleans_and_lists(tmp_path: Path) -> None:
    environ = {
        "ANYCOWORK_COMMAND_TIMEOUT": "7.5",
        "ANYCOWORK_PROBE_LOCAL_SERVERS": "false",
        "ANYCOWORK_ALLOWED_HOSTS": "a.example, b.example",
    }
    settings = load(tmp_path, environ=environ)
    assert settings.command_timeout == 7.5
    assert settings.probe_local_servers is False
    assert settings.allowed_hosts == ("a.example", "b.example")


def test_providers_come_from_the_file(tmp_path: Path) -> None:
    config = '[[providers]]\nname = "mine"\nbase_url = "http://10.0.0.1/v1"\napi_key_env = "MY_KEY"\nmodels = ["m"]\n'
    (provider,) = load(tmp_path, config=config).providers
    assert (provider.name, provider.kind, provider.api_key_env, provider.models) == ("mine", "openai", "MY_KEY", ("m",))


def test_a_key_written_into_a_provider_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as refused:
        load(tmp_path, config='[[providers]]\nname = "mine"\napi_key = "sk-secret"\n')
    assert "providers.0.api_key" in refused.value.message
    assert "sk-secret" not in refused.value.message


def test_a_broken_file_is_named_with_its_line_and_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"config\.toml is not valid TOML.*line 2.*move the file away"):
        load(tmp_path, config="port = 1\nhost = = 2\n")


def test_an_unfitting_value_is_named_with_where_it_came_from(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="'port' \\(from ANYCOWORK_PORT\\)"):
        load(tmp_path, environ={"ANYCOWORK_PORT": "many"})
    with pytest.raises(BadSettings, match=r"'max_steps' \(from .*config\.toml, line 1\)"):
        load(tmp_path, config="max_steps = 0")
    with pytest.raises(BadSettings, match="'port' \\(from --port\\)"):
        load(tmp_path, config="", port=70_000)


CONFIG = """# mine
max_steps = "many"

[[providers]]
name = "one"
[[providers]]
name = "two"
apikey = "x"
prices = { m = { input = -1, output = 1 } }
"""


def test_every_unfitting_value_of_the_file_is_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as refused:
        load(tmp_path, config=CONFIG)
    told = refused.value.message
    assert "'max_steps' (from" in told and "config.toml, line 2) does not fit: it should be a valid integer" in told
    assert "'providers.1.apikey'" in told and "line 8) does not fit: there is no such setting." in told
    assert "'providers.1.prices.m.input'" in told and "line 9)" in told


@pytest.mark.parametrize(
    ("text", "place", "line"),
    [
        ("a = 1\nb = 2\n", ("b",), 2),
        ("[[p]]\nx = 1\n[[p]]\ny = 1\n", ("p", 1, "x"), 3),
        ("[[p]]\nx = 1\n[p.prices.'a.b']\ninput = 2\n", ("p", 0, "prices", "a.b", "input"), 4),
        ("p . q = 1 # [z]\n", ("p", "q"), 1),
        ("", ("a",), None),
        ("b = 1", ("a",), None),
    ],
)
def test_a_place_is_found_in_the_file_or_what_encloses_it(text: str, place: tuple[str | int, ...], line: int | None):
    assert line_of(text, place) == line


@given(st.text(), st.lists(st.text() | st.integers(0, 3), max_size=3))
def test_no_text_is_too_odd_to_be_looked_through(text: str, place: list[str | int]):
    found = line_of(text, place)
    assert found is None or 1 <= found <= len(text.splitlines())


def test_a_file_that_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"port = 1\nhost = '\xff'\n")
    with pytest.raises(BadSettings, match=r"config\.toml, line 2, is not text in UTF-8"):
        load(tmp_path)


def test_what_is_nearly_a_setting_is_told_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("port = 1\nmax_stepz = 3\nqqq = 1\n")
    environ = {"ANYCOWORK_PROT": "1", "ANYCOWORK_PORT": "1", "ANYCOWORK_SOMETHING_ELSE": "x", "PATH": "x"}
    first, second, third = unused_variables(tmp_path, environ)
    assert first.endswith("line 2: 'max_stepz' is not a setting, so it has no effect. Did you mean 'max_steps'?")
    assert second.endswith("line 3: 'qqq' is not a setting, so it has no effect.")
    assert third == "The variable ANYCOWORK_PROT is not a setting, so it has no effect. Did you mean ANYCOWORK_PORT?"


@proves("SEC-1")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "house.example"])
def test_another_address_needs_a_token_set_on_purpose(tmp_path: Path, host: str) -> None:
    with pytest.raises(BadSettings, match=f"host {host} .*--token"):
        load(tmp_path, host=host)
    assert load(tmp_path, host=host, token="set-on-purpose").host == host


@pytest.mark.parametrize("token", ["with space", "bröd", "line\nbreak"])
def test_a_token_that_cannot_stand_in_a_header_is_refused_without_being_shown(tmp_path: Path, token: str) -> None:
    with pytest.raises(BadSettings, match="printable ASCII") as refused:
        load(tmp_path, token=token)
    assert token not in refused.value.message


@proves("SEC-2")
@given(secret=st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=12))
def test_secrets_show_in_no_repr_and_no_dump(secret: str) -> None:
    assume(secret not in repr(Settings(data_dir=Path("/d"))))  # a setting's own name is no secret
    settings = Settings(data_dir=Path("/d"), token=secret)
    shown = repr(settings) + str(settings) + str(settings.public_dump()) + settings.model_dump_json()
    assert secret not in shown
    assert settings.public_dump()["token_set"] is True
    assert Settings(data_dir=Path("/d")).public_dump()["token_set"] is False


@proves("SEC-2")
def test_saved_settings_are_readable_by_the_owner_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    save_settings(data, {"model": "a/b"})
    assert stat.S_IMODE((data / "config.toml").stat().st_mode) == 0o600
    assert stat.S_IMODE(data.stat().st_mode) == 0o700


def test_saving_keeps_what_it_does_not_know_and_what_it_was_not_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('port = 9000\ncolour = "blue"\n[later]\nx = 1\n')
    save_settings(tmp_path, {"max_steps": 5})
    written = tomllib.loads((tmp_path / "config.toml").read_text())
    assert written == {"port": 9000, "colour": "blue", "later": {"x": 1}, "max_steps": 5}
    assert unknown_keys(tmp_path) == ["colour", "later"]
    assert load(tmp_path).max_steps == 5


def test_a_provider_saved_through_the_api_comes_back_from_the_file(tmp_path: Path) -> None:
    save_settings(tmp_path, {"providers": [{"name": "mine", "base_url": None, "models": ["m"]}], "max_steps": "7"})
    assert [provider.name for provider in load(tmp_path).providers] == ["mine"]
    assert tomllib.loads((tmp_path / "config.toml").read_text())["max_steps"] == 7


def test_saving_none_takes_a_setting_back_to_its_default(tmp_path: Path) -> None:
    save_settings(tmp_path, {"max_steps": 5, "model": "a/b"})
    save_settings(tmp_path, {"max_steps": None})
    assert (load(tmp_path).max_steps, load(tmp_path).model) == (10, "a/b")


@pytest.mark.parametrize("name", sorted(KNOBS.keys() - CHANGEABLE))
def test_a_setting_that_is_fixed_while_the_server_runs_is_not_saved(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadSettings, match=f"'{name}' cannot be changed"):
        save_settings(tmp_path, {name: "x"})
    assert not (tmp_path / "config.toml").exists()


def test_a_setting_that_does_not_exist_is_called_none(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"'max_stepz' is not a setting\. These can be changed: .*max_steps"):
        save_settings(tmp_path, {"max_stepz": 3})


def test_an_unfitting_change_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    save_settings(tmp_path, {"max_steps": 5})
    before = (tmp_path / "config.toml").read_bytes()
    with pytest.raises(BadSettings, match="'max_steps'"):
        save_settings(tmp_path, {"max_steps": -1})
    assert (tmp_path / "config.toml").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]


def test_the_data_folder_cannot_be_moved_from_inside_it(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="--data-dir"):
        load(tmp_path, config='data_dir = "/elsewhere"')


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"])
def test_loopback_is_recognised_in_every_form(host: str) -> None:
    assert is_loopback(host)


def test_there_are_at_most_45_knobs_and_all_but_switches_name_their_unit() -> None:
    assert len(KNOBS) <= 45
    assert [name for name, knob in KNOBS.items() if not knob.unit] == []
