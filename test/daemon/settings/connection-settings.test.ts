import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { SettingsPreview } from '../../../src/contract/control/settings-changes.ts'
import { configuredConnection, openConfiguredDaemon, storePeople } from '../../helpers/configured.ts'
import { exportHeader, exportOf } from '../../helpers/first-visit.ts'
import { record } from '../../helpers/records.ts'
import { startChild } from '../../helpers/servers/children.ts'

const atThree = { schedule: "# Every night.\nschedule: { cron: '0 3 * * *' }" }
const atFour = { schedule: "schedule: { cron: '0 4 * * *' }" }

let daemon: Awaited<ReturnType<typeof openConfiguredDaemon>>
beforeAll(async () => {
  daemon = await openConfiguredDaemon()
})
beforeEach(async () => {
  await writeFile(daemon.file, daemon.text)
  daemon.reloadRequests.length = 0
})
afterAll(async () => {
  await daemon[Symbol.asyncDispose]()
})

async function textOf(part: string): Promise<string> {
  const { sections } = await daemon.read()
  return sections.find(({ section }) => section === part)?.text ?? ''
}

test('a change is saved into its lines, recorded with person and difference, and reloaded', async () => {
  await chmod(daemon.file, 0o640)
  const saved = await daemon.save(atThree)
  const [entry] = await daemon.entries()

  expect(saved).toMatchObject({ status: 200, body: { connection: 'hr', waits: false, isTakenUp: true } })
  expect(await daemon.config()).toBe(daemon.text.replace('0 2 * * *', '0 3 * * *'))
  expect((await stat(daemon.file)).mode & 0o777).toBe(0o640)
  expect(daemon.reloadRequests).toEqual(['reload'])
  expect(entry).toMatchObject({
    act: 'settings.changed',
    by: 'server.token',
    details: {
      difference: ["schedule - schedule: { cron: '0 2 * * *' }", "schedule + schedule: { cron: '0 3 * * *' }"],
    },
  })
  expect((await readdir(daemon.folder)).filter((name) => name.startsWith('rollcall.yaml'))).toEqual(['rollcall.yaml'])
})

test('of two admins who edit at once, the second is refused', async () => {
  const { digest } = await daemon.read()
  const [first, second] = await Promise.all([
    daemon.send('', { digest, sections: atThree }),
    daemon.send('', { digest, sections: atFour }),
  ])

  expect([first.status, second.status].sort()).toEqual([200, 409])
  const refused = first.status === 409 ? first : second
  expect(JSON.stringify(refused.body)).toContain('has changed since you opened this page')
  expect(await daemon.config()).toBe(daemon.text.replace('0 2', first.status === 200 ? '0 3' : '0 4'))
})

test('a change is refused if the file was changed by hand meanwhile', async () => {
  const { digest } = await daemon.read()
  const byHand = `${daemon.text}# by hand\n`
  await writeFile(daemon.file, byHand)

  expect(await daemon.send('', { digest, sections: atThree })).toMatchObject({ status: 409 })
  expect(await daemon.config()).toBe(byHand)
})

test.each([
  ['mapping', 'fields: { startedAt: { colum: Start } }', 'Unrecognized key: "colum" (did you mean "column"?)'],
  ['leaving', 'status: { column: Status, leftWhen: [Terminated], gone: [Terminated] }', 'Unrecognized key: "gone"'],
  ['schedule', "schedule: { cron: '0 25 * * *' }", 'schedule.cron'],
  ['guards', 'guards: { leavers: { share: 7 } }', 'guards.leavers.share'],
  ['target', 'target: {}', 'expected either name or id'],
] as const)('a mistake in %s stands beside it and is not saved', async (section, text, message) => {
  const sections = { [section]: text }
  const { problems } = await daemon.preview(sections)

  expect(problems).toContainEqual({ section, message: expect.stringContaining(message) })
  expect(await daemon.save(sections)).toMatchObject({ status: 422 })
  expect(await daemon.config()).toBe(daemon.text)
})

test('the effect on the newest export stands beside what the present settings do', async () => {
  const leaving = 'status: { column: Status, leftWhen: [Active], employedWhen: [Terminated] }'
  const { effect, difference } = await daemon.preview({ leaving })
  const broken = await daemon.preview({ mapping: 'fields: { identityId: { column: Nowhere } }' })

  expect(effect).toMatchObject({ before: { rows: 40, counts: { join: 40 } }, after: { rows: 40 } })
  expect(effect?.after.guards).not.toEqual(effect?.before?.guards)
  expect(difference.map(({ section }) => section)).toEqual(['leaving'])
  expect(JSON.stringify(broken.effect?.after.guards.filter(({ ok }) => !ok))).toContain('Nowhere')
})

test('the effect on linked connections stands beside that on the connection, where their settings change too', async () => {
  const also = (words: string) => `    also:
      sister: { target: { name: Sister }, status: { column: Status, leftWhen: [${words}], employedWhen: [Active] } }
      brother: { target: { name: Brother } }
`
  const file = daemon.text + also('Terminated')
  await writeFile(daemon.file, file)
  const other = also('Terminated').replace(
    '[Terminated], employedWhen: [Active]',
    '[Active], employedWhen: [Terminated]',
  )
  const cousin = `${other}      cousin: { target: { name: Cousin } }\n`.replaceAll(/^ {4}/gm, '').trimEnd()
  const { isSame, effect, linked, problems } = await daemon.preview({ other: cousin })
  const strict = `${await textOf('mapping')}\nonBadCell: rejectRow`
  const shared = await daemon.preview({ mapping: strict })
  const removed = await daemon.preview({ other: '' })

  expect([problems, isSame, effect]).toEqual([[], true, null])
  expect(removed).toMatchObject({ isSame: true, linked: [], removedLinked: ['sister', 'brother'] })
  expect(linked.map(({ connection }) => connection)).toEqual(['sister', 'cousin'])
  expect(linked[0]?.effect?.after).not.toEqual(linked[0]?.effect?.before)
  expect(linked[1]).toMatchObject({ effect: { before: null, after: { counts: { join: 40 } } }, effectTrouble: null })
  expect(shared.linked.map(({ connection }) => connection)).toEqual(['sister', 'brother'])
})

test('of many linked connections, the first are read and the others named', async () => {
  const names = Array.from({ length: 8 }, (_, at) => `l${at}`)
  const also = names.map((name) => `  ${name}: { target: { name: ${name} } }`).join('\n')
  const { linked, moreLinked } = await daemon.preview({ other: `also:\n${also}` })

  expect(linked.map(({ connection }) => connection)).toEqual(names.slice(0, 5))
  expect(moreLinked).toEqual(names.slice(5))
})

/** An export of people who are all known after the first run. */
const leftAndPresent = `${exportHeader}
E0,a@acme.example,Ana,<b>Berg</b>,2024-01-15,Gone
E1,b@acme.example,Ben,Cruz,2024-01-15,Terminated
E2,c@acme.example,Cem,Diaz,2024-01-15,Active
`
const namedMapping = `fields:
  identityId: { column: Employee ID }
  email: { column: Email }
  startedAt: { column: Start Date }
  firstName: First Name
  lastName: Last Name`
const goneMeansLeft = 'status: { column: Status, leftWhen: [Gone], employedWhen: [Active, Terminated] }'

test('who would leave only with the changed settings comes first, with names only where they are asked for', async () => {
  await using known = await openConfiguredDaemon({ files: { 'people.csv': leftAndPresent } })
  await storePeople(
    known,
    [0, 1, 2].map((at) =>
      record(`E${at}`, { email: `${'abc'[at]}@acme.example`, startedAt: '2024-01-15T00:00:00.000Z' }),
    ),
  )
  const { digest } = await known.read()
  const body = { digest, sections: { leaving: goneMeansLeft, mapping: namedMapping } }
  const named = SettingsPreview.parse((await known.send('/preview?values=true', body)).body)
  const unnamed = SettingsPreview.parse((await known.send('/preview', body)).body)
  const answer = await known.api('/audit/entries?limit=50')

  expect(named.effect?.people).toMatchObject([
    { identityId: 'E0', person: { lastName: '<b>Berg</b>' }, before: null, after: { kind: 'leave' } },
    { identityId: 'E1', before: { kind: 'leave' }, after: { kind: 'update' } },
    { identityId: 'E2', before: null, after: { kind: 'update' } },
  ])
  expect(JSON.stringify(unnamed)).not.toContain('Berg')
  expect(unnamed.effect?.people).toMatchObject([{ after: { kind: 'leave' } }, {}, {}])
  expect(JSON.stringify(await answer.json())).toContain('values.seen')
})

test('whoever approves a change, or undoes one, sees what it does', async () => {
  await using two = await openConfiguredDaemon({ more: `approvals: { twoPeople: true }\n${configuredConnection}` })
  const [ana, ben] = [await two.newToken('ana', 'admin'), await two.newToken('ben', 'admin')]
  const stored = async (change: string) => await two.send('/preview-stored', { change }, ben)
  const none = await stored('waiting')
  await two.save({ leaving: goneMeansLeft }, ana)
  const waiting = SettingsPreview.parse((await stored('waiting')).body)
  const { waiting: proposed } = await two.read(ben)
  await two.send('/approve', { id: proposed?.id }, ben)
  const previous = SettingsPreview.parse((await stored('previous')).body)
  await two.save(atFour, ana)
  await writeFile(two.file, `${await two.config()}# by hand\n`)
  const moved = await stored('waiting')

  expect([none.status, moved.status, (await stored('previous')).status]).toEqual([409, 409, 409])
  expect(waiting.difference).toEqual(proposed?.difference)
  expect(waiting).toMatchObject({ isSame: false, effect: { before: { rows: 40 }, after: { rows: 40 } } })
  expect(previous.difference.map(({ section }) => section)).toEqual(['leaving'])
  expect(previous.effect?.after).toEqual(waiting.effect?.before)
})

test('what reads the same people is not read again', async () => {
  await rm(join(daemon.folder, 'people.csv'))
  const { isSame, effect, effectTrouble } = await daemon.preview(atFour)
  const other = await daemon.preview({ leaving: goneMeansLeft })
  await writeFile(join(daemon.folder, 'people.csv'), exportOf(40))

  expect([isSame, effect, effectTrouble]).toEqual([true, null, null])
  expect(other.effectTrouble).toContain('people.csv')
})

test('a changed list of accounts is not said to do the same as now', async () => {
  const source =
    '{ type: csv, path: people.csv, mode: snapshot, fields: { identityId: Employee ID }, record: { login: Email } }'
  await using listed = await openConfiguredDaemon({
    more: `connections:\n  hr:\n    target: { type: DIRECTORY }\n    source: ${source}\n    schedule: { cron: '0 2 * * *' }\n`,
  })
  const { isSame, effect, effectTrouble, problems, difference } = await listed.preview(atFour)

  expect([problems, difference.length, isSame, effect]).toEqual([[], 1, false, null])
  expect(effectTrouble).toContain('run "rollcall check" after saving')
})

test('if the present settings cannot read the export, what the changed ones do is shown alone', async () => {
  const semicolons = exportOf(3).replaceAll(',', ';')
  await using moved = await openConfiguredDaemon({ files: { 'people.csv': semicolons } })
  const source = (await moved.read()).sections.find(({ section }) => section === 'source')?.text ?? ''
  await writeFile(moved.file, moved.text.replace('mode: snapshot', 'mode: snapshot\n      delimiter: ","'))
  const { effect } = await moved.preview({ source: `${source}\ndelimiter: ";"` })

  expect(effect).toMatchObject({ before: null, after: { counts: { join: 3 } }, people: [{ before: null }, {}, {}] })
  expect(effect?.beforeTrouble).toContain('people.csv')
})

test('where each export is read, the newest one is previewed', async () => {
  const names = ['2026-01-01.csv', '2026-01-02.csv', '2026-01-03.csv']
  const files = Object.fromEntries(names.map((name, at) => [name, exportOf(at + 1)]))
  await using each = await openConfiguredDaemon({
    more: configuredConnection.replace('path: people.csv', "path: '2026-*.csv'\n      take: each"),
    files,
  })
  for (const [at, name] of names.entries()) {
    const day = new Date(Date.UTC(2026, 0, at + 1))
    await utimes(join(each.folder, name), day, day)
  }
  const { effect } = await each.preview({ leaving: goneMeansLeft })

  expect(effect).toMatchObject({ before: { rows: 3 }, after: { rows: 3 } })
})

test('a file with other bytes than UTF-8 is neither shown nor saved, so that none are lost', async () => {
  const { digest } = await daemon.read()
  const bytes = Buffer.from(`# M\xfcller\n${daemon.text}`, 'latin1')
  await writeFile(daemon.file, bytes)
  const saved = await daemon.send('', { digest, sections: atThree })

  expect(saved).toMatchObject({ status: 409 })
  expect(JSON.stringify(saved.body)).toContain('is not UTF-8')
  expect((await readFile(daemon.file)).equals(bytes)).toBe(true)
})

test('a part that is too long for a form is left out of it, and one that becomes too long says so', async () => {
  const pinned = (count: number) => `pinned: [${Array.from({ length: count }, (_, at) => `E${at}`).join(', ')}]`
  const visitor = await daemon.visitor()
  const form = await visitor.get('/connections/hr/settings')
  const fields = Object.fromEntries(
    [...form.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  )
  const longer = await visitor.post('/connections/hr/settings/preview', { ...fields, 'part-guards': pinned(12_000) })
  await writeFile(daemon.file, `${daemon.text}    ${pinned(12_000)}\n`)
  const { text } = await visitor.get('/connections/hr/settings')

  expect(longer.text).toContain('This is too long to be saved here')
  expect(text).toContain('too long to be edited here')
  expect(text).not.toContain('name="part-guards"')
  expect(text).toContain('name="part-schedule"')
})

test('the settings of many connections are shown page by page, and found by name', async () => {
  const names = Array.from({ length: 45 }, (_, at) => `c${String(at).padStart(2, '0')}`)
  const [, hr = ''] = configuredConnection.split('  hr:\n')
  await using many = await openConfiguredDaemon({
    more: `connections:\n${names.map((name) => `  ${name}:\n${hr.replace('name: HR', `name: ${name}`)}`).join('')}`,
  })
  const visitor = await many.visitor()
  const shownOn = async (at: string) => {
    const { text } = await visitor.get(at)
    return [...text.matchAll(/>Connection (c\d\d)</g)].map(([, name]) => name)
  }

  expect(await shownOn('/settings')).toEqual(names.slice(0, 10))
  expect((await visitor.get('/settings')).text).toContain('/settings?after=c09')
  expect(await shownOn('/settings?after=c39')).toEqual(names.slice(40))
  expect(await shownOn('/settings?search=C4')).toEqual(names.slice(40))
})

test('a reload that refused the file shows, with its reason', async () => {
  daemon.reloads.last = { at: '2026-11-20T08:00:00Z', refused: 'database cannot change while the daemon runs' }
  const { refusedReload } = await daemon.read()
  const { text } = await (await daemon.visitor()).get('/connections/hr/settings')
  daemon.reloads.last = null

  expect(refusedReload).toBe('database cannot change while the daemon runs')
  expect(text).toContain('continues with the settings before it: database cannot change')
  expect((await daemon.read()).refusedReload).toBeNull()
})

test('a read-only file says so at once, and gives the text to copy', async () => {
  await chmod(daemon.file, 0o444)
  const { trouble } = await daemon.read()
  const preview = await daemon.preview(atFour)
  const saved = await daemon.save(atFour)
  await chmod(daemon.file, 0o600)

  expect(trouble).toContain('is read-only')
  expect(preview).toMatchObject({ trouble, text: atFour.schedule })
  expect(saved).toMatchObject({ status: 409 })
  expect(await daemon.config()).toBe(daemon.text)
})

test('a change that cannot be written is recorded as failed, and the version before can still be undone', async () => {
  await daemon.save(atThree)
  const obstacle = `${daemon.file}.${process.pid}.draft`
  await mkdir(obstacle)
  const failed = await daemon.save(atFour)
  await rm(obstacle, { recursive: true })
  const [entry] = await daemon.entries()

  expect(failed).toMatchObject({ status: 409 })
  expect(entry).toMatchObject({ act: 'settings.failed' })
  expect(await daemon.config()).toContain('0 3 * * *')
  expect((await daemon.read()).previous).toMatchObject({ by: 'server.token' })
})

test.each([
  ['before it replaced the file', 'rename', ['settings.failed'], '0 2 * * *'],
  ['after it replaced the file', 'renamed', [], '0 3 * * *'],
  ['before the reload', 'reload', [], '0 3 * * *'],
] as const)(
  'a process that is killed %s leaves a whole file, and only a change that was not made is recorded as failed',
  async (_when, step, recorded, cron) => {
    let now = new Date()
    await using killed = await openConfiguredDaemon({ now: () => now })
    const child = new URL('children/save-and-die.ts', import.meta.url)
    const code = await startChild(child, killed.file, step).finish()
    const text = await killed.config()
    const busy = step === 'reload' ? null : await killed.save(atFour)
    now = new Date(now.getTime() + 60_000)
    // Whatever is asked for, also in vain, ends it first.
    await killed.send('/reject', { id: randomUUID() })
    const [entry, ...others] = await killed.entries()

    expect(code).toBe(null)
    expect(text).toBe(killed.text.replace('0 2 * * *', cron))
    expect(busy?.body.message ?? 'being saved right now').toContain('being saved right now')
    expect([entry, ...others].map((one) => one?.act)).toEqual([...recorded, 'settings.changed'])
    expect((await readdir(killed.folder)).filter((name) => name.endsWith('.draft'))).toEqual([])
    expect(entry).toMatchObject({ by: 'ana' })
    expect((await killed.read()).previous === null).toBe(step === 'rename')
    expect(await killed.save(atFour)).toMatchObject({ status: 200 })
  },
)

test.each([
  ['before it replaced the file', 'rename', 'settings.failed'],
  ['after it replaced the file', 'renamed', 'settings.changed'],
] as const)('an edit by hand after a process was killed %s is told from the change', async (_when, step, act) => {
  let now = new Date()
  await using killed = await openConfiguredDaemon({ now: () => now })
  await startChild(new URL('children/save-and-die.ts', import.meta.url), killed.file, step).finish()
  await writeFile(killed.file, `${await killed.config()}# by hand\n`)
  now = new Date(now.getTime() + 60_000)
  await killed.send('/reject', { id: randomUUID() })

  expect((await killed.entries())[0]?.act).toBe(act)
})

test('what a killed process left is kept until its change could be recorded', async () => {
  let now = new Date()
  await using killed = await openConfiguredDaemon({ now: () => now })
  await startChild(new URL('children/save-and-die.ts', import.meta.url), killed.file, 'rename').finish()
  await writeFile(killed.file, `${await killed.config()}# by hand\n`)
  now = new Date(now.getTime() + 60_000)
  const database = new Client(killed.database.at)
  await database.connect()
  await database.query('alter table rollcall.audit_pending add constraint away check (false) not valid')
  const refused = await killed.send('/reject', { id: randomUUID() })
  await database.query('alter table rollcall.audit_pending drop constraint away')
  await database.end()
  await killed.send('/reject', { id: randomUUID() })

  expect(refused.status).not.toBe(409)
  expect((await killed.entries())[0]?.act).toBe('settings.failed')
  expect((await readdir(killed.folder)).filter((name) => name.endsWith('.draft'))).toEqual([])
})

test('undo puts the previous version back, unless the file has changed since', async () => {
  await daemon.save(atThree)
  const { digest, previous } = await daemon.read()
  const undone = await daemon.send('/undo', { digest })
  const restored = await daemon.config()
  await writeFile(daemon.file, `${restored}# by hand\n`)
  const after = await daemon.read()

  expect(previous?.difference.flatMap(({ lines }) => lines.filter(({ is }) => is === 'added'))).toEqual([
    { is: 'added', text: "schedule: { cron: '0 2 * * *' }" },
  ])
  expect(undone).toMatchObject({ status: 200 })
  expect(restored).toBe(daemon.text)
  expect((await daemon.entries())[0]).toMatchObject({ act: 'settings.changed', details: { undo: true } })
  expect(after.previous).toBeNull()
  expect(await daemon.send('/undo', { digest: after.digest })).toMatchObject({ status: 409 })
})

test.each([
  [{ source: 'type: csv\npath: people.csv\nmode: snapshot\ntimeZone: ${file:/etc/passwd}' }, 'source'],
  [{ mapping: 'fields: { email: { column: "${env:HOME}" } }' }, 'mapping'],
  [{ target: 'target: { name: "${file:token}" }' }, 'target'],
] as const)('no reference is written from a browser: %j', async (sections, section) => {
  const { problems } = await daemon.preview(sections)

  expect(problems[0]).toEqual({ section, message: expect.stringContaining('references such as ${file:…}') })
  expect(await daemon.save(sections)).toMatchObject({ status: 422 })
})

test('an alias must not carry a change out of the connection', async () => {
  const shared = daemon.text
    .replace("{ cron: '0 2 * * *' }", "&nightly { cron: '0 2 * * *' }")
    .concat(
      '  other: { target: { name: Other }, source: { type: csv, path: people.csv, mode: snapshot, preset: workday }, schedule: *nightly }\n',
    )
  await writeFile(daemon.file, shared)

  const { problems } = await daemon.preview({ schedule: "schedule: &nightly { cron: '0 3 * * *' }" })

  expect(problems).toEqual([{ section: null, message: expect.stringContaining('through an alias') }])
})

test('outside of a trial, addresses and files are changed on the machine', async () => {
  await using real = await openConfiguredDaemon({ baseUrl: 'https://platform.example/public/v2' })
  const source = (path: string, zone: string) => `type: csv\npath: ${path}\nmode: snapshot\ntimeZone: ${zone}`
  const { problems } = await real.preview({ source: source('/etc/shadow', 'UTC') })

  expect(problems).toEqual([{ section: 'source', message: expect.stringContaining('source.path may name a file') }])
  expect(await real.save({ source: source('people.csv # from payroll', 'Europe/Berlin') })).toMatchObject({
    status: 200,
  })
})

test('outside of a trial, no other recipe gets the credentials of the present one, and a preset of an export can be changed', async () => {
  const baseUrl = 'https://platform.example/public/v2'
  const recipe = `connections:
  hr:
    target: { name: HR }
    source:
      preset: finch
      bearer: '\${file:token}'
`
  const mapping = 'preset: generic\nfields: { identityId: Employee ID }'
  await using system = await openConfiguredDaemon({ baseUrl, more: recipe })
  await using exported = await openConfiguredDaemon({ baseUrl })
  const { problems } = await system.preview({ mapping: 'preset: deel-api' })

  expect(problems).toEqual([{ section: 'mapping', message: expect.stringContaining('source.preset may name') }])
  expect((await exported.preview({ mapping })).problems).toEqual([])
})

test('a part with a text that may be a secret is neither shown nor changed', async () => {
  const more = `connections:
  hr:
    target: { name: HR }
    source:
      type: http
      format: csv
      url: https://hr.example/people
      basic: { username: key-of-hr, password: '\${file:token}' }
      mode: snapshot
      fields: { identityId: { column: id } }
      status: null
`
  await using secretive = await openConfiguredDaemon({ more })
  const { sections, hidden } = await secretive.read()
  const saved = await secretive.save({ source: 'type: csv', guards: 'pinned: [E1]' })

  expect(JSON.stringify(sections)).not.toContain('key-of-hr')
  expect(hidden).toEqual(['source'])
  expect(saved).toMatchObject({ status: 200 })
  expect(await secretive.config()).toContain('username: key-of-hr')
  expect(JSON.stringify(await secretive.entries())).not.toContain('key-of-hr')
})

test('under the rule of two people a change waits for another admin, and expires', async () => {
  let now = new Date('2026-11-20T08:00:00Z')
  await using two = await openConfiguredDaemon({
    more: `approvals: { twoPeople: true, expireHours: 24 }\n${configuredConnection}`,
    now: () => now,
  })
  const [ana, ben] = [await two.newToken('ana', 'admin'), await two.newToken('ben', 'admin')]
  const approver = await two.newToken('otto', 'approver')
  const proposed = await two.save(atThree, ana)
  const { waiting } = await two.read(ben)
  const id = waiting?.id
  const own = await two.send('/approve', { id }, ana)
  const byApprover = await two.send('/approve', { id }, approver)
  const unchanged = await two.config()
  const obstacle = `${two.file}.${process.pid}.draft`
  await mkdir(obstacle)
  const failed = await two.send('/approve', { id }, ben)
  await rm(obstacle, { recursive: true })
  const approved = await two.send('/approve', { id }, ben)
  const again = await two.send('/approve', { id }, ben)

  expect(proposed).toMatchObject({ status: 200, body: { waits: true } })
  expect(waiting).toMatchObject({ by: 'ana', isOwn: false, expiresAt: '2026-11-21T08:00:00.000Z' })
  expect([own.status, byApprover.status, approved.status, again.status]).toEqual([409, 403, 200, 409])
  expect(unchanged).toBe(two.text)
  expect([failed.status, JSON.stringify(failed.body).includes('cannot write')]).toEqual([409, true])
  expect(await two.config()).toContain('0 3 * * *')
  expect(await two.entries()).toMatchObject([
    { act: 'settings.changed', by: 'ana', details: { approvedBy: 'ben' } },
    { act: 'settings.failed', by: 'ana' },
    { act: 'settings.changed', by: 'ana', details: { approvedBy: 'ben' } },
    { act: 'settings.proposed', by: 'ana' },
  ])

  const { digest } = await two.read(ana)
  expect(await two.send('/undo', { digest }, ana)).toMatchObject({ body: { waits: true } })
  const late = (await two.read(ben)).waiting?.id
  now = new Date('2026-11-21T08:00:00Z')
  expect(await two.send('/approve', { id: late }, ben)).toMatchObject({ status: 409 })
  await two.save(atFour, ana)
  const rejected = (await two.read(ben)).waiting?.id
  await two.send('/reject', { id: rejected }, ben)
  expect((await two.read(ben)).waiting).toBeNull()
  await two.save(atFour, ana)
  await writeFile(two.file, `${await two.config()}# by hand\n`)
  const stale = (await two.read(ben)).waiting?.id
  expect(await two.send('/approve', { id: stale }, ben)).toMatchObject({ status: 409 })
})
