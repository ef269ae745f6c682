/** Functions that indexes and generated columns use. */
export const searchFunctions = `
-- Upper and lower case of every alphabet, whatever the locale of the database: \`lower\` alone knows plain letters only under the locale C, and
-- Turkish ones under a Turkish locale. The two forms of the small sigma count as one letter.
create function fold_case(value text) returns text
  language sql immutable parallel safe
  return translate(lower(value collate "und-x-icu"), 'ς', 'σ');

-- The text of a person that the Personnel page searches, without accents: "NFD" separates them from their letters.
create function search_text(first_name text, last_name text, email text) returns text
  language sql immutable parallel safe
  return fold_case(regexp_replace(
    normalize(
      left(coalesce(first_name, ''), 191) || ' ' || left(coalesce(last_name, ''), 191) || ' ' || left(email, 191), NFD),
    '[\\u0300-\\u036f]', '', 'g'));

-- PostgreSQL takes words of up to 2046 bytes, so a word is cut after 511 characters of at most four bytes. The page asks for shorter ones.
create function search_words(first_name text, last_name text, email text) returns tsvector
  language sql immutable parallel safe
  return (
    select coalesce(array_to_tsvector(array_agg(left(word, 511))), '')
    from unnest(
      regexp_split_to_array(search_text(first_name, last_name, email), '\\s+')
        || regexp_split_to_array(search_text(first_name, last_name, email), '[-\\s.,_@+/()'']+')
    ) as word
    where word <> ''
  );
`
