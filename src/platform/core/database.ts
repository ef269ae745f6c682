import { type Database, openDatabase } from '../../database/database.ts'
import { Failure } from '../../errors.ts'
import { migrations } from '../migrations/index.ts'
import type { PlatformSchema } from './schema.ts'

/** Opens the platform's database and applies its migrations. */
export async function openPlatformDatabase(at: string): Promise<Database<PlatformSchema>> {
  try {
    return await openDatabase<PlatformSchema>({ at, schemas: ['platform'], migrations })
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'store_lost')
      throw new Failure(
        error.code,
        `${error.message}; put a copy of the whole folder back, or remove "database.json" in it to continue with the present data`,
        { cause: error },
      )
    if (error.code === 'store_damaged')
      throw new Failure(error.code, `${error.message}; put a copy of the whole folder back, or import an export`, {
        cause: error,
      })
    throw error
  }
}
