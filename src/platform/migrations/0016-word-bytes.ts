import type { Migration } from '../../database/database.ts'

/**
 * PostgreSQL takes words of up to 2046 bytes, and a letter that is set apart from its accents can take twelve. So a word is cut after
 * 511 characters, of four bytes at most; the page asks for shorter ones.
 */
export const wordBytes: Migration = {
  name: '0016-word-bytes',
  sql: `
    create or replace function search_words(first_name text, last_name text, email text) returns tsvector
      language sql immutable parallel safe
      return (
        select coalesce(array_to_tsvector(array_agg(left(word, 511))), '')
        from unnest(
          regexp_split_to_array(search_text(first_name, last_name, email), '\\s+')
            || regexp_split_to_array(search_text(first_name, last_name, email), '[-\\s.,_@+/()'']+')
        ) as word
        where word <> ''
      );
  `,
}
