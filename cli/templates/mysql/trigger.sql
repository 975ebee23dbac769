CREATE TRIGGER {{ name }} {{ event }} ON {{ table }} FOR EACH ROW
{{ body }};
