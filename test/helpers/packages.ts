import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

const root = fileURLToPath(new URL('../../', import.meta.url))

const Entry = z.object({
  version: z.string().default(''),
  integrity: z.string().optional(),
  license: z.string().optional(),
  link: z.boolean().default(false),
  dev: z.boolean().default(false),
  optional: z.boolean().default(false),
  hasInstallScript: z.boolean().default(false),
})
const Lock = z.object({ packages: z.record(z.string(), Entry) })
const OldLicenses = z.object({ licenses: z.tuple([z.object({ type: z.string() })]) })

/** A package of the lock file. */
export type Locked = z.infer<typeof Entry> & { readonly name: string; readonly path: string }

/** Every package that the lock file names. */
export async function lockedPackages(): Promise<Locked[]> {
  const { packages } = Lock.parse(JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')))
  return Object.entries(packages).flatMap(([path, entry]) =>
    path === '' ? [] : [{ ...entry, path, name: path.replace(/^.*node_modules\//, '') }],
  )
}

/** The licence of a package. Some say it in a form that npm does not take over into the lock file. */
export async function licenseOf({ license, path }: Locked): Promise<string> {
  if (license !== undefined) return license
  const manifest = OldLicenses.parse(JSON.parse(await readFile(join(root, path, 'package.json'), 'utf8')))
  return manifest.licenses[0].type
}

/** The files in which a package brings the words of its licence. */
export async function licenseFiles({ path }: Locked): Promise<string[]> {
  const files = await readdir(join(root, path))
  return files.filter((file) => /^(licen[sc]e|copying|notice)/i.test(file)).sort()
}
