import type { Migration } from '../../database/database.ts'

/** Which fields the last write of an identity record named, as bits: what a batch tells its one statement about each record. */
export const givenFields: Migration = {
  name: '0013-given-fields',
  sql: `
    alter table hris_user_identities add column given integer not null default 0;
  `,
}
