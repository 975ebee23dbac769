CREATE TRIGGER {{ name }} {{ body }};
