// Navigate to another fragment of this page.
(fragment) => { location.hash = fragment; }
