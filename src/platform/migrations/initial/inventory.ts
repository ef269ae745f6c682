import { belongsTo, id, listed, listIndexes, times } from './columns.ts'

/** Devices with their apps, assets with their classes, and custom fields. */
export const inventoryTables = `
create table custom_field_definitions (
  ${id},
  account_id ${belongsTo('accounts')},
  name text not null,
  type text not null check (type in (
    'TEXT', 'NUMBER', 'CURRENCY', 'OPTIONS', 'FORMULA', 'OPTIONS_NUMERIC', 'LONG_TEXT', 'URL'
  )),
  entity_types text[] not null,
  is_required boolean not null,
  description text,
  is_hidden boolean not null default false,
  currency_code text,
  ${listed}
);
${listIndexes('custom_field_definitions', 'custom_field_definitions', 'account_id')}
create index custom_field_definitions_name on custom_field_definitions (account_id, name);

-- The values that a field may have; a field without any takes every value of its type.
create table custom_field_options (
  ${id},
  definition_id ${belongsTo('custom_field_definitions')},
  value text not null,
  unique (definition_id, value)
);

create table devices (
  ${id},
  account_id ${belongsTo('accounts')},
  connection_id ${belongsTo('custom_connections')},
  personnel_id ${belongsTo('personnel')},
  serial_number text,
  mac_address text,
  external_id text,
  alias text,
  model text,
  platform_name text not null check (platform_name in ('MACOS', 'WINDOWS', 'LINUX', 'UNIX', 'ANDROID')),
  platform_version text not null,
  antivirus_enabled boolean,
  auto_update_enabled boolean,
  firewall_enabled boolean,
  password_manager_enabled boolean,
  encryption_enabled boolean,
  screen_lock_enabled boolean,
  screen_lock_time double precision,
  explanations jsonb not null,
  apps_count integer,
  browser_extensions jsonb,
  windows_services jsonb,
  last_checked_at timestamptz(3) not null,
  ${listed},
  unique (connection_id, serial_number),
  unique (connection_id, mac_address),
  unique (connection_id, external_id)
);
${listIndexes('devices', 'devices', 'account_id')}
${listIndexes('devices_connection', 'devices', 'connection_id')}
${listIndexes('devices_person', 'devices', 'personnel_id')}
create index devices_serial_number on devices (account_id, serial_number);
create index devices_mac_address on devices (account_id, mac_address);
create index devices_external_id on devices (account_id, external_id);

create table device_apps (
  ${id},
  device_id ${belongsTo('devices')},
  installed_app text not null,
  ${listed},
  unique (device_id, installed_app)
);
${listIndexes('device_apps', 'device_apps', 'device_id')}

create table assets (
  ${id},
  account_id ${belongsTo('accounts')},
  device_id bigint unique references devices on delete cascade,
  owner_id ${belongsTo('users')},
  unique_id uuid not null unique default gen_random_uuid(),
  name text not null,
  description text not null,
  asset_type text not null check (asset_type in ('PHYSICAL', 'VIRTUAL')),
  provider text not null,
  notes text,
  associated_id text,
  removed_at timestamptz(3),
  external_id text,
  external_owner_id text,
  ${listed}
);
${listIndexes('assets', 'assets', 'account_id')}
${listIndexes('assets_type', 'assets', 'account_id, asset_type')}
${listIndexes('assets_provider', 'assets', 'account_id, provider')}
${listIndexes('assets_owner', 'assets', 'owner_id')}

create table asset_class_types (
  ${id},
  account_id ${belongsTo('accounts')},
  asset_id ${belongsTo('assets')},
  class_type text not null,
  ${times},
  unique (asset_id, class_type)
);
create index asset_class_types_class on asset_class_types (account_id, class_type, asset_id);

-- A value is deleted with its person or asset.
create table custom_field_values (
  definition_id ${belongsTo('custom_field_definitions')},
  entity_type text not null check (entity_type in ('CONTROL', 'ASSET', 'PERSONNEL')),
  entity_id bigint not null,
  value text not null,
  asset_id bigint generated always as (case when entity_type = 'ASSET' then entity_id end) stored
    references assets on delete cascade,
  personnel_id bigint generated always as (case when entity_type = 'PERSONNEL' then entity_id end) stored
    references personnel on delete cascade,
  primary key (definition_id, entity_type, entity_id)
);
create index custom_field_values_entity on custom_field_values (entity_type, entity_id);
create index custom_field_values_asset on custom_field_values (asset_id) where asset_id is not null;
create index custom_field_values_person on custom_field_values (personnel_id) where personnel_id is not null;
`
