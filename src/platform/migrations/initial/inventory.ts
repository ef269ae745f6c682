/** Devices with their apps, assets with their classes, and the fields that an account defines itself. */
export const inventoryTables = `
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

create table devices (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  connection_id bigint not null references custom_connections on delete cascade,
  personnel_id bigint not null references personnel on delete cascade,
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
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id(),
  unique (connection_id, serial_number),
  unique (connection_id, mac_address),
  unique (connection_id, external_id)
);
create index devices_created on devices (account_id, created_at, id);
create index devices_updated on devices (account_id, updated_at, id);
create index devices_connection_created on devices (connection_id, created_at, id);
create index devices_connection_updated on devices (connection_id, updated_at, id);
create index devices_person_created on devices (personnel_id, created_at, id);
create index devices_person_updated on devices (personnel_id, updated_at, id);
create index devices_serial_number on devices (account_id, serial_number);
create index devices_mac_address on devices (account_id, mac_address);
create index devices_external_id on devices (account_id, external_id);

create table device_apps (
  id bigint generated always as identity primary key,
  device_id bigint not null references devices on delete cascade,
  installed_app text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id(),
  unique (device_id, installed_app)
);
create index device_apps_created on device_apps (device_id, created_at, id);
create index device_apps_updated on device_apps (device_id, updated_at, id);

create table assets (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  device_id bigint unique references devices on delete cascade,
  owner_id bigint not null references users on delete cascade,
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
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  changed_in xid8 not null default pg_current_xact_id()
);
create index assets_created on assets (account_id, created_at, id);
create index assets_updated on assets (account_id, updated_at, id);
create index assets_type_created on assets (account_id, asset_type, created_at, id);
create index assets_type_updated on assets (account_id, asset_type, updated_at, id);
create index assets_provider_created on assets (account_id, provider, created_at, id);
create index assets_provider_updated on assets (account_id, provider, updated_at, id);
create index assets_owner_created on assets (owner_id, created_at, id);
create index assets_owner_updated on assets (owner_id, updated_at, id);

create table asset_class_types (
  id bigint generated always as identity primary key,
  account_id bigint not null references accounts on delete cascade,
  asset_id bigint not null references assets on delete cascade,
  class_type text not null,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  unique (asset_id, class_type)
);
create index asset_class_types_class on asset_class_types (account_id, class_type, asset_id);

-- A value is removed with the person or asset that carries it.
create table custom_field_values (
  definition_id bigint not null references custom_field_definitions on delete cascade,
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
