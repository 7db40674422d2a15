"""An S3-like object store: the few requests that bagnoise makes, and their errors in words.

The only file that imports fsspec (and s3fs through it), and only when a URL is used. Everything
goes through `Store`; texts of the store or of its libraries are never passed on, since they may
hold addresses and keys of their own.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
from concurrent.futures import CancelledError, wait
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from bagnoise.errors import BagError, UsageError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from threading import Event

_BODY_ATTEMPTS = 3
_CALL_ATTEMPTS = 2  # of s3fs, over those that botocore makes
_MARK = "bagnoise-upload"  # in an object's own metadata: which upload made it
_LOOK_S = 0.2
_GONE = {"404", "NoSuchKey", "NotFound"}
_EXISTS = {"412", "PreconditionFailed", "ConditionalRequestConflict"}
_NO_CREDENTIALS = {"NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError"}
_REASONS = (
    (
        {"403", "AccessDenied", "AllAccessDisabled", "AccountProblem"},
        "access denied; these credentials may not do this there",
    ),
    (
        {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "AuthFailure"},
        "the store does not accept these credentials",
    ),
    ({"ExpiredToken", "RequestExpired", "ExpiredTokenException"}, "the credentials have expired"),
    (
        _NO_CREDENTIALS,
        (
            "no credentials found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "AWS_PROFILE, or FSSPEC_S3_ANON=true for a public bucket"
        ),
    ),
)
_BROKE_OFF = "the object store cannot be reached, broke off or refused"


class NotThereError(BagError):
    """The store has no such object."""


class ExistsError(BagError):
    """The store has an object of this name already."""


class Entry(NamedTuple):
    """An object of a bucket; ``etag`` changes with its content."""

    key: str
    size: int
    mtime_ns: int
    etag: str
    mark: str = ""  # of the upload that made it; only `Store.look` finds it


class Store:
    """One bucket.

    Every method raises `BagError` with one line that names the URL and what is wrong.
    """

    def __init__(self, bucket: str) -> None:
        """Connect when first asked."""
        self.bucket = bucket
        self._system = _file_system()

    def look(self, key: str) -> Entry | None:
        """Describe an object; None if there is none (or no such bucket: `some` tells)."""
        try:
            found = self._call("head_object", key)
        except NotThereError:
            return None
        return _entry(key, found["ContentLength"], found)

    def some(self, prefix: str) -> bool:
        """Whether any object's key begins so."""
        return bool(self._call("list_objects_v2", "", Prefix=prefix, MaxKeys=1).get("Contents"))

    def under(self, prefix: str) -> Iterator[Entry]:
        """List the objects whose keys begin so, in the order of their keys."""
        more: dict[str, Any] = {}
        while True:
            page = self._call("list_objects_v2", "", Prefix=prefix, **more)
            for found in page.get("Contents", ()):
                yield _entry(found["Key"], found["Size"], found)
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def read(self, entry: Entry, start: int, end: int, stop: Event | None = None) -> bytes:
        """Read bytes start to end (not included) of an object that is still the one described.

        ``stop`` gives up, here and in `put_part`, what a stalled connection may hold for long.
        """
        data: bytes = self._run(self._read(entry, start, end), entry.key, stop)
        return data

    def put(self, key: str, data: bytes, *, mark: str = "", only_new: bool = False) -> None:
        """Store an object whole; with ``only_new`` raise `ExistsError` rather than replace one.

        ``mark``, here and in `begin`, is kept with the object: `look` tells by it whose it is.
        """
        self._conditional(
            "put_object",
            key,
            only_new=only_new,
            Body=data,
            ContentMD5=_md5(data),
            Metadata=_metadata(mark),
        )

    def begin(self, key: str, mark: str) -> str:
        """Begin an upload in parts, of which nothing shows before `complete`; return its id."""
        answer = self._call("create_multipart_upload", key, Metadata=_metadata(mark))
        return str(answer["UploadId"])

    def put_part(self, key: str, upload: str, number: int, data: bytes, stop: Event) -> str:
        """Send a part, which the store checks against its MD5; return its etag."""
        where = {"Bucket": self.bucket, "Key": key, "UploadId": upload, "PartNumber": number}
        call = self._system._call_s3("upload_part", Body=data, ContentMD5=_md5(data), **where)  # noqa: SLF001 - as in `_call`
        answer = self._run(call, key, stop)
        return str(answer["ETag"])

    def complete(self, key: str, upload: str, etags: list[str], *, only_new: bool) -> None:
        """Make the parts one object; with ``only_new`` raise `ExistsError` if there is one."""
        parts = [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(etags, start=1)]
        self._conditional(
            "complete_multipart_upload",
            key,
            only_new=only_new,
            UploadId=upload,
            MultipartUpload={"Parts": parts},
        )

    def abort(self, key: str, upload: str) -> None:
        """Drop an upload and its parts."""
        self._call("abort_multipart_upload", key, UploadId=upload)

    def delete(self, key: str) -> None:
        """Remove an object."""
        self._call("delete_object", key)

    def _conditional(self, method: str, key: str, *, only_new: bool, **arguments: Any) -> None:
        """Call with If-None-Match; without where a store does not know it (we have looked)."""
        if only_new:
            try:
                self._call(method, key, IfNoneMatch="*", **arguments)
            except _NotImplementedByStoreError:
                pass
            else:
                return
        self._call(method, key, **arguments)

    def _call(self, method: str, key: str, **arguments: Any) -> dict[str, Any]:
        if key:
            arguments["Key"] = key
        call = self._system._call_s3(method, Bucket=self.bucket, **arguments)  # noqa: SLF001 - s3fs documents call_s3; this is it without its own waiting
        answer: dict[str, Any] = self._run(call, key)
        return answer

    async def _read(self, entry: Entry, start: int, end: int) -> bytes:
        """Read a range; a connection that is cut within it is tried again."""
        for attempt in range(_BODY_ATTEMPTS):
            answer = await self._system._call_s3(  # noqa: SLF001 - as above
                "get_object",
                Bucket=self.bucket,
                Key=entry.key,
                Range=f"bytes={start}-{end - 1}",
                IfMatch=entry.etag,
            )
            body = answer["Body"]
            try:
                if answer["ETag"] != entry.etag:  # not every store heeds If-Match
                    raise _replaced(self._url(entry.key))
                data: bytes = await body.read()
            except _body_errors():
                if attempt + 1 == _BODY_ATTEMPTS:
                    raise
                await asyncio.sleep(0.1 * 2**attempt)
                continue
            finally:
                body.close()
            if len(data) == end - start:
                return data
        msg = f"{self._url(entry.key)}: the store gave {len(data)} bytes, not {end - start}"
        raise BagError(msg)

    def _run(self, coroutine: Coroutine[Any, Any, Any], key: str, stop: Event | None = None) -> Any:
        """Wait for a request, which Ctrl-C or ``stop`` cancels."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._system.loop)
        try:
            while stop is not None and not wait([future], _LOOK_S).done:
                if stop.is_set():
                    future.cancel()
            return future.result()
        except CancelledError:
            msg = f"{self._url(key)}: interrupted"
            raise BagError(msg) from None
        except BagError:
            raise
        except Exception as error:  # noqa: BLE001 - libraries of the store raise whatever
            raise self._in_words(error, key) from None
        except BaseException:
            future.cancel()
            raise

    def _url(self, key: str) -> str:
        return f"s3://{self.bucket}/{key}" if key else f"s3://{self.bucket}"

    def _in_words(self, error: Exception, key: str) -> BagError:
        code, url = _code(error), self._url(key)
        if code in _GONE:
            return NotThereError(f"{url}: no such object")
        if code == "NoSuchBucket":
            return BagError(f"s3://{self.bucket}: no such bucket")
        if code in _EXISTS:
            return _precondition(error, url)
        if code == "NotImplemented":
            return _NotImplementedByStoreError(f"{url}: the store cannot do this")
        reason = next((text for codes, text in _REASONS if code in codes), _BROKE_OFF)
        return BagError(f"{url}: {reason} ({code})")


class _NotImplementedByStoreError(BagError):
    """The store does not know a request."""


def _precondition(error: Exception, url: str) -> BagError:
    """Tell a failed If-Match (reading) from a failed If-None-Match (writing)."""
    operation = next((e.operation_name for e in _chain(error) if hasattr(e, "operation_name")), "")
    if operation == "GetObject":
        return _replaced(url)
    return ExistsError(f"{url}: has appeared while the output was written; it is left alone")


def _replaced(url: str) -> BagError:
    return BagError(f"{url}: was replaced while it was read; start again")


def _code(error: Exception) -> str:
    """Return the store's code of an error, else the name of its class."""
    for one in _chain(error):
        response = getattr(one, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", "?"))
    names = [type(one).__name__ for one in _chain(error)]
    return next((name for name in names if name in _NO_CREDENTIALS), names[-1])


def _chain(error: BaseException) -> Iterator[Any]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


@cache
def store_of(bucket: str) -> Store:
    """Return the store of a bucket; one a process."""
    return Store(bucket)


@cache
def _file_system() -> Any:
    """Make the s3fs file system, which finds credentials and endpoint as other AWS tools do.

    Raises:
        UsageError: the extra ``cloud`` is not installed.
    """
    try:
        import fsspec  # noqa: PLC0415 - optional, and slow to import
        import s3fs  # noqa: F401, PLC0415 - said here, before fsspec says it in its own words
    except ImportError as error:
        msg = f"s3:// needs the package {error.name}: pip install 'bagnoise[cloud]'"
        raise UsageError(msg) from None
    config: dict[str, Any] = {
        "connect_timeout": 10,
        # Content-MD5 is sent with all data; stores other than AWS's often know no newer checksum
        "request_checksum_calculation": "when_required",
        "response_checksum_validation": "when_required",
    }
    if "AWS_MAX_ATTEMPTS" not in os.environ:
        config["retries"] = {"mode": "standard", "total_max_attempts": 3}
    system = fsspec.filesystem(
        "s3", use_listings_cache=False, skip_instance_cache=True, config_kwargs=config
    )
    system.retries = _CALL_ATTEMPTS
    return system


@cache
def _body_errors() -> tuple[type[Exception], ...]:
    """Name what a connection raises that is cut within an answer."""
    from aiohttp import ClientError  # noqa: PLC0415 - comes with s3fs
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    return OSError, asyncio.TimeoutError, ClientError, BotoCoreError


def _entry(key: str, size: int, found: dict[str, Any]) -> Entry:
    modified_ns = int(found["LastModified"].timestamp()) * 1_000_000_000
    mark = found.get("Metadata", {}).get(_MARK, "")
    return Entry(key, int(size), modified_ns, str(found["ETag"]), mark)


def _metadata(mark: str) -> dict[str, str]:
    return {_MARK: mark} if mark else {}


def _md5(data: bytes) -> str:
    digest = hashlib.md5(data, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()
