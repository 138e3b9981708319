"""The SessionStore in memory does what the one on disk does."""

import pytest

from nanobot.ports import SessionStore
from tests.contracts.session_store import SessionStoreContract
from tests.fakes.sessions import InMemorySessions


class TestInMemorySessions(SessionStoreContract):
    @pytest.fixture
    def store(self) -> SessionStore:
        return InMemorySessions()

    def as_a_new_process_sees(self, store: SessionStore) -> SessionStore:
        assert isinstance(store, InMemorySessions)
        return store.restarted()
