import { withOptionalPackage } from '../../system/optional-package.ts'

/** Imports what serves SCIM and its optional packages. Throws a failure that names the package if it is missing. */
export async function loadScim() {
  const load = async () => {
    // Named first, because it is the package that people look for.
    await import('scimmy')
    return (await import('./serve.ts')).serveScim
  }
  return await withOptionalPackage(load, { name: 'scimmy', use: 'a source of type scim' })
}
