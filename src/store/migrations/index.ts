import type { Migration } from '../../database/database.ts'
import { store } from './0001-store.ts'

/** Numbered files that stay as they were, in order. */
export const migrations: readonly Migration[] = [store]
