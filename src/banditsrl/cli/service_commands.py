"""Which commands run the HTTP service? `serve`, and `token` for who may use it."""

import contextlib
import warnings
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from banditsrl.cli.console import print_message
from banditsrl.cli.loop_commands import show_progress
from banditsrl.cli.program import CommandGroup
from banditsrl.engines.local import compiled_programs
from banditsrl.errors import BanditSRLError, Conflict, NotFound
from banditsrl.live.live_loop import Loop
from banditsrl.live.loop_config import find_differences, read_config
from banditsrl.numerics.process import use_compilation_cache
from banditsrl.web.tokens import make_token, read_entries, remove_token

console = Console(markup=False)  # names may hold brackets
token_app = typer.Typer(
    cls=CommandGroup, help="Make, list and remove tokens of the service.", no_args_is_help=True
)

ConfigFiles = Annotated[
    list[Path], typer.Argument(help="YAML files, each with the configuration of one loop.")
]
StoreUrl = Annotated[
    str, typer.Option("--store", help="SQLite file, or postgresql:// URL, that keeps the loops.")
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port to listen on; 0 means any free one.", min=0)]
OptionalTokens = Annotated[
    Path | None,
    typer.Option(
        "--tokens", help="File of tokens. Without one, only this machine can use the service."
    ),
]
Replica = Annotated[
    int, typer.Option(help="Number of this server among those that share the loops.", min=0)
]
TokenStore = Annotated[Path, typer.Option("--file", help="File of tokens.")]
TokenScopes = Annotated[
    str, typer.Option(help="What the token allows: some of decide, reward, read and admin.")
]
TokenName = Annotated[str | None, typer.Option(help="Name of the token, to remove it by.")]
OldTokenName = Annotated[str, typer.Argument(help="Name of the token.")]


class MissingExtra(BanditSRLError, ImportError):
    """A command needs packages that are not installed."""


def add_service_commands(app: typer.Typer) -> None:
    """Add the commands of the service to the command line."""
    app.command("serve")(serve)
    app.add_typer(token_app, name="token")


def serve(
    configs: ConfigFiles,
    *,
    store: StoreUrl,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    tokens: OptionalTokens = None,
    replica: Replica = 0,
) -> None:
    """Serve loops over HTTP, with a dashboard; a loop that is not yet in the store is created."""
    try:
        # The packages of the extra `serve` may be absent.
        from banditsrl.web.server import serve as serve_loops  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(
            f"The service needs the package {error.name}: pip install 'banditsrl[serve]', "
            "or pip install '.[serve]' in a clone."
        ) from None
    use_compilation_cache(compiled_programs())  # a server that starts again need not compile
    with warnings.catch_warnings():  # what is not known is refused or warned of by the opening
        warnings.simplefilter("ignore")
        names = [read_config(path).name for path in configs]  # refuses a bad file first of all
    openers = [
        partial(_open_or_create, store, path, name, replica)
        for path, name in zip(configs, names, strict=True)
    ]
    serve_loops(openers, host=host, port=port, tokens=tokens, announce=print_message)


def _open_or_create(store: str, path: Path, name: str, replica: int) -> Loop:
    try:
        loop = Loop.open(store, name, replica=replica, warm_up=False, progress=show_progress)
    except NotFound:
        with contextlib.suppress(Conflict):  # another server may have made it at this moment
            return Loop.create(store, path, replica=replica, warm_up=False)
        loop = Loop.open(store, name, replica=replica, warm_up=False, progress=show_progress)
    if changed := find_differences(loop.config, read_config(path)):
        print_message(
            f"The loop {name} keeps the configuration that it was made with; {path} has another "
            f"{', '.join(changed)}."
        )
    return loop


@token_app.command("new")
def new_token(file: TokenStore, scopes: TokenScopes, name: TokenName = None) -> None:
    """Make a token and print it once; the file keeps only its hash."""
    token = make_token(file, [word.strip() for word in scopes.split(",")], name=name)
    console.print(token, highlight=False, soft_wrap=True)


@token_app.command("list")
def list_tokens(file: TokenStore) -> None:
    """List the names and scopes of the tokens in a file."""
    for entry in read_entries(file):
        console.print(f"{entry.name}: {', '.join(entry.scopes)}", highlight=False)


@token_app.command("remove")
def drop_token(name: OldTokenName, file: TokenStore) -> None:
    """Remove a token; a running service notices it within a second."""
    remove_token(file, name)
    print_message(f"The token {name} was removed.")
