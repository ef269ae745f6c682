/** Functions that indexes and generated columns use. */
export const searchFunctions = `
-- Folds the case of every alphabet in every locale of the database: \`lower\` alone only knows ASCII letters under the locale C, and Turkish
-- rules under a Turkish locale. Both forms of the small sigma become one letter.
create function fold_case(value text) returns text
  language sql immutable parallel safe
  return translate(lower(value collate "und-x-icu"), 'ς', 'σ');

-- The searchable text of a person, without accents: "NFD" separates accents from letters.
create function search_text(first_name text, last_name text, email text) returns text
  language sql immutable parallel safe
  return fold_case(regexp_replace(
    normalize(
      left(coalesce(first_name, ''), 191) || ' ' || left(coalesce(last_name, ''), 191) || ' ' || left(email, 191), NFD),
    '[\\u0300-\\u036f]', '', 'g'));

-- A word of a tsvector has at most 2046 bytes, so words are cut after 511 characters of at most four bytes. The page searches for shorter words.
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
