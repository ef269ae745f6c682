import { temporaryFolder } from './folders.ts'
import { type Answer, type HttpSettings, openHttp, recordsOf, rowsOf, startHrServer } from './hr-server.ts'

/** Answers by path. A path that is not listed is not found. */
export function routes(answers: Readonly<Record<string, Answer>>): Answer {
  return (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://hr')
    const answer = answers[pathname]
    if (answer) answer(request, response)
    else response.writeHead(404).end()
  }
}

/** The settings of a source by the address of its server. */
export type SettingsFor = (url: string) => HttpSettings

/** What a server gives for a source with details: its records, or the failure. */
export async function readDetails(
  answer: Answer,
  settings: SettingsFor,
  { secrets, signal }: { readonly secrets?: Readonly<Record<string, string>>; readonly signal?: AbortSignal } = {},
) {
  await using server = await startHrServer(answer)
  await using folder = await temporaryFolder()
  const reading = await openHttp(settings(server.url), { folder: folder.path, secrets, options: signal && { signal } })
  const records = await recordsOf(await (reading.reopen?.() ?? reading))
  const rows = await rowsOf(reading)
  return { reading, records, rows, warnings: reading.warnings?.() ?? [], requests: server.requests }
}

/** How a reading failed. */
export async function detailFailure(answer: Answer, settings: SettingsFor): Promise<unknown> {
  return await readDetails(answer, settings).then(
    () => Promise.reject(new Error('it was read')),
    (error: unknown) => error,
  )
}
