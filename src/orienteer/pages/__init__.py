"""The states, outcomes and reasons of pages."""
