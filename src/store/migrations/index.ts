import type { Migration } from '../../database/database.ts'
import { store } from './0001-store.ts'
import { inbox } from './0002-inbox.ts'
import { feeds } from './0003-feeds.ts'
import { deliveries } from './0004-deliveries.ts'
import { alerts } from './0005-alerts.ts'
import { employment } from './0006-employment.ts'
import { acknowledged } from './0007-acknowledged.ts'

/** Numbered files that stay as they were, in order. */
export const migrations: readonly Migration[] = [store, inbox, feeds, deliveries, alerts, employment, acknowledged]
