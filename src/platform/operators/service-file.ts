import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '../../system/replace-file.ts'

const Service = z.object({ pid: z.int(), operatorUrl: z.string(), token: z.string() })
type Service = z.infer<typeof Service>

/** Tells the commands of this machine how to reach the platform that runs on an embedded database, until disposed. Only the owner can read it. */
export async function announceService(folder: string, service: Service): Promise<AsyncDisposable> {
  await replaceFile(serviceFile(folder), (draft) => draft.writeFile(`${JSON.stringify(service)}\n`))
  return { [Symbol.asyncDispose]: () => rm(serviceFile(folder), { force: true }) }
}

/** What the platform on this folder announced; it may have died since. Null where none has. */
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
