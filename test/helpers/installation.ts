import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openWorkplace, type StoreOptions, type Workplace } from './workplace.ts'
import { type HrPerson, headers } from './world.ts'

/** A workplace whose export has the columns of the world's HR system. */
export type Installation = Workplace & {
  readonly dataDir: string
  /** Drops an export of these people, newer than every one before. */
  writeExport(people: readonly HrPerson[]): Promise<void>
  setKey(key: string): Promise<void>
}

const mapping =
  'fields: { identityId: Worker ID, email: Email, firstName: First Name, jobTitle: Job Title, ' +
  'startedAt: Start Date, separatedAt: Leaving Date }, status: { column: Status, leftWhen: [Inactive], employedWhen: [Active] }'

/** Makes an installation that feeds the platform at `baseUrl`. It listens on a free port when it serves. */
export async function install(
  platform: { baseUrl: string; key: string; database?: string; queue?: string },
  options: StoreOptions = {},
): Promise<Installation> {
  const work = await openWorkplace({ ...platform, source: mapping }, options)
  return {
    ...work,
    dataDir: join(work.folder, 'data'),
    writeExport: (people) => work.drop('people.csv', csv(people)),
    setKey: (key) => writeFile(join(work.folder, 'key'), key),
  }
}

function csv(people: readonly HrPerson[]): string {
  const rows = people.map(({ id, email = '', first = '', title = '', start = '', leavingDate = '', status = '' }) =>
    [id, email, first, title, start, leavingDate, status].join(','),
  )
  return `${[headers.join(','), ...rows].join('\n')}\n`
}
