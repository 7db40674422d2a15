"""Entry point of ``bagnoise`` and ``python -m bagnoise``."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from bagnoise.cli.main import run  # noqa: PLC0415 - importing the package costs no time

    run()


if __name__ == "__main__":
    main()
