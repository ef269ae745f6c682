import type { Migration } from '../../database/database.ts'

/** The fields that an account defines itself, with their values. An entity's values belong to no table of their own, so whoever deletes the entity deletes them. */
export const inventory: Migration = {
  name: '0007-inventory',
  sql: `
    create table custom_field_definitions (
      id bigint generated always as identity primary key,
      account_id bigint not null references accounts on delete cascade,
      name text not null,
      type text not null check (type in (
        'TEXT', 'NUMBER', 'CURRENCY', 'OPTIONS', 'FORMULA', 'OPTIONS_NUMERIC', 'LONG_TEXT', 'URL'
      )),
      entity_types text[] not null,
      is_required boolean not null,
      created_at timestamptz(3) not null,
      updated_at timestamptz(3) not null,
      changed_in xid8 not null default pg_current_xact_id()
    );
    create index custom_field_definitions_created on custom_field_definitions (account_id, created_at, id);
    create index custom_field_definitions_updated on custom_field_definitions (account_id, updated_at, id);
    create index custom_field_definitions_name on custom_field_definitions (account_id, name);

    create table custom_field_values (
      definition_id bigint not null references custom_field_definitions on delete cascade,
      entity_type text not null check (entity_type in ('CONTROL', 'ASSET', 'PERSONNEL')),
      entity_id bigint not null,
      value text not null,
      primary key (definition_id, entity_type, entity_id)
    );
    create index custom_field_values_entity on custom_field_values (entity_type, entity_id);
  `,
}
