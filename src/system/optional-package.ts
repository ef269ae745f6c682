import { errorCode, Failure } from '../errors.ts'

type OptionalPackage = {
  /** The name of the package, or the scope of several. */
  readonly name: string
  /** What needs it, as the subject of a sentence. */
  readonly use: string
}

/**
 * Loads a module that needs a package which `npm ci --omit=optional` leaves out. Throws `config_invalid` with the remedy if the package
 * is missing.
 */
export async function withOptionalPackage<T>(load: () => Promise<T>, { name, use }: OptionalPackage): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if (errorCode(error) !== 'ERR_MODULE_NOT_FOUND' || !String(error).includes(`'${name}`)) throw error
    throw new Failure(
      'config_invalid',
      `${use} needs the package ${name}, which was left out here: install Rollcall without --omit=optional`,
      { cause: error },
    )
  }
}
