import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../../system/replace-file.ts'

const Service = z.object({ pid: z.int(), operatorUrl: z.string(), token: z.string() })
type Service = z.infer<typeof Service>

/** Writes the address and token of the running platform to the folder of its database, for the commands of this machine, until disposed. Only the owner can read it. */
export async function announceService(folder: string, service: Service): Promise<AsyncDisposable> {
  await replaceFile(serviceFile(folder), (draft) => draft.writeFile(`${JSON.stringify(service)}\n`))
  return { [Symbol.asyncDispose]: () => rm(serviceFile(folder), { force: true }) }
}

/** The address and token of the platform on this folder, or null. The platform may have died since. */
export async function readService(folder: string): Promise<Service | null> {
  try {
    return Service.parse(JSON.parse(await readFile(serviceFile(folder), 'utf8')))
  } catch {
    return null
  }
}

function serviceFile(folder: string): string {
  return join(folder, 'service.json')
}
