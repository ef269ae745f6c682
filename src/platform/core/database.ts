import { type Database, openDatabase } from '../../database/database.ts'
import { migrations } from '../migrations/index.ts'
import type { PlatformSchema } from './schema.ts'

/** Opens the platform's database alone, for the operator. */
export async function openPlatformDatabase(at: string): Promise<Database<PlatformSchema>> {
  return openDatabase<PlatformSchema>({ at, schemas: ['platform'], migrations })
}
