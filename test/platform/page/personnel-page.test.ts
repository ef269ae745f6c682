import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPlatformDatabase } from '../../../src/platform/core/database.ts'
import { lockForSync } from '../../../src/platform/identity-sync/identity-sync.ts'
import { createPostgresDatabase, databases } from '../../helpers/servers/databases.ts'
import { namesOn, newPageCompany, newVisitor, signedIn } from '../helpers/page-visitors.ts'
import { newHrisConnection, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const hostile = `"><script>alert(1)</script><img src=x onerror='alert(2)'>`

describe.each(databases)('the Personnel page on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test('shows everybody by last name, with status, source and last sync', async () => {
    const acme = await newPageCompany(opened)
    const visitor = await signedIn(opened, acme.name)

    const { text } = await visitor.get('/personnel')

    const rows = rowsOf(text)
    expect(rows.map((row) => row.slice(0, 4))).toEqual([
      ['Nora Berg nora@acme.example', 'Unknown Not compliant', 'no dates', 'none'],
      ['Front Desk desk@acme.example', 'Out of scope', 'no dates', 'Set by hand 2 Mar 2026, record in HR'],
      ['Ana Ruiz ana@acme.example', 'Current employee Not compliant', 'no dates', 'HR'],
    ])
    expect(rows.map(([, , , , lastSync]) => lastSync)).toEqual([
      '2 Mar 2026, 10:00 UTC',
      'not synced',
      '2 Mar 2026, 10:00 UTC',
    ])
    expect(text).toContain('role="status">3 people</p>')
  })

  test('names the connection that the sync follows before the others', async () => {
    const acme = await newPageCompany(opened)
    const other = await newHrisConnection(acme.client)
    await opened.platform.database.db
      .updateTable('custom_connections')
      .set({ client_alias: 'HR of <the> other' })
      .where('id', '=', other)
      .execute()
    await acme.send(
      [
        {
          identityId: 'z',
          email: 'ana@acme.example',
          isContractor: false,
          startedAt: '2026-01-01T00:00:00.000Z',
        },
      ],
      other,
    )
    await acme.sync()
    const visitor = await signedIn(opened, acme.name)

    const { text } = await visitor.get(`/personnel?source=${other}`)

    expect(rowsOf(text).map(([person, , , source]) => [person, source])).toEqual([
      ['Ana Ruiz ana@acme.example', 'HR of &lt;the&gt; other also HR'],
    ])
  })

  test('shows groups and dates set by hand, filters by group, and offers a reset', async () => {
    const acme = await newPageCompany(opened)
    const provider = { name: 'Okta', clientType: 'OKTA_IDENTITY' }
    const group = { externalId: 'eng', name: 'Eng & <more>', members: ['ana@acme.example'] }
    const { id } = await opened.operator.setGroup({ body: { account: acme.name, provider, group } })
    const params = { personnelId: 'email:ana@acme.example' as const }
    await acme.client.updatePersonnel({ params, body: { startedAt: '2021-05-03' } })
    const visitor = await signedIn(opened, acme.name)

    const { text } = await visitor.get(`/personnel?group=${id}`)

    expect(rowsOf(text).map((row) => [row[0], row[2], row[5]])).toEqual([
      ['Ana Ruiz ana@acme.example Eng &amp; &lt;more&gt;', 'from 3 May 2021 set by hand', 'Reset'],
    ])
    expect(text).toContain(`<option value="${id}" selected>Eng &amp; &lt;more&gt;</option>`)
    expect(namesOn((await visitor.get('/personnel?source=by-hand')).text)).toEqual(['Front Desk', 'Ana Ruiz'])
  })

  test.each([
    ['an employment status', 'status=CURRENT_EMPLOYEE', ['Ana Ruiz']],
    ['those set by hand', 'source=by-hand', ['Front Desk']],
    ['those of no source', 'source=none', ['Nora Berg']],
    ['a status and a source that exclude each other', 'status=UNKNOWN&source=by-hand', []],
    ['a connection that is not there', 'source=987654321', []],
    ['a status that is none', 'status=EVERYTHING', ['Nora Berg', 'Front Desk', 'Ana Ruiz']],
  ])('filters by %s', async (_what, filter, names) => {
    const acme = await newPageCompany(opened)
    const visitor = await signedIn(opened, acme.name)

    const { status, text } = await visitor.get(`/personnel?${filter}`)

    expect([status, namesOn(text)]).toEqual([200, names])
  })

  test.each([
    ['the beginning of a last name', 'gar', ['Tomás García-Núñez']],
    ['letters without their accents', 'tomas nunez', ['Tomás García-Núñez']],
    ['another case', 'TOMÁS', ['Tomás García-Núñez']],
    ['a letter that not every database knows the capital of', 'ørs', ['Ørsted Ny']],
    ['a capital that not every database knows', 'ØRS', ['Ørsted Ny']],
    ['a part of a name with a hyphen', 'nuñ', ['Tomás García-Núñez']],
    ['a name with an apostrophe', "o'br", ["Kay O'Brien"]],
    ['the beginning of an address', 'k.ob@ac', ["Kay O'Brien"]],
    ['the domain of an address', 'elsewhere', ['Ørsted Ny']],
    ['the middle of a word', 'omás', []],
    ['words of two people', 'kay ny', []],
    ['nothing but spaces', '%20%20', ["Kay O'Brien", 'Tomás García-Núñez', 'Ørsted Ny']],
    ['signs of the search itself', "%27%7C%26%21%3A*%5C('", []],
    ['what no database can hold', '%00%ED%A0%80', []],
    ['very much', 'x'.repeat(5000), []],
  ])('finds by %s', async (_what, search, names) => {
    const acme = await opened.newAccount()
    await opened.operator.seed({
      body: {
        accounts: [
          {
            name: acme.name,
            entitlements: [],
            termsAcceptedAt: null,
            workspaces: [],
            customFields: [],
            policies: [],
            people: [
              { email: 't.g@acme.example', firstName: 'Tomás', lastName: 'García-Núñez', title: null },
              { email: 'k.ob@acme.example', firstName: 'Kay', lastName: "O'Brien", title: null },
              { email: 'hc@elsewhere.example', firstName: 'Ørsted', lastName: 'Ny', title: null },
            ],
          },
        ],
      },
    })
    const visitor = await signedIn(opened, acme.name)

    const { status, text } = await visitor.get(`/personnel?q=${search}`)

    const shownNames = namesOn(text).map((name) => name.replaceAll('&#39;', "'"))
    expect([status, shownNames.sort()]).toEqual([200, [...names].sort()])
  })

  test('pages forth and back meet everybody once, in order', async () => {
    const acme = await newPageCompany(opened)
    await acme.send(
      Array.from({ length: 120 }, (_, index) => ({
        identityId: `p${index}`,
        email: `p${index}@acme.example`,
        firstName: `First ${index % 7}`,
        lastName: `Name ${index % 3}`,
        isContractor: false,
      })),
    )
    await acme.sync()
    const visitor = await signedIn(opened, acme.name)
    const pages: string[][] = []
    let last = ''
    for (let next: string | null = '/personnel?status=CURRENT_EMPLOYEE'; next !== null; ) {
      last = (await visitor.get(next)).text
      pages.push(addressesOn(last))
      next = linkOf(last, 'next')
    }

    const back = (await visitor.get(linkOf(last, 'prev') ?? '')).text

    expect(pages.map((page) => page.length)).toEqual([50, 50, 21])
    expect(new Set(pages.flat()).size).toBe(121)
    expect(addressesOn(back)).toEqual(pages[1])
    expect(linkOf(back, 'next')).not.toBeNull()
    expect((await visitor.get('/personnel?after=99999999')).text).toContain('123 people, 50 on this page')
  })

  test('whatever a person, an account or an address holds is shown and not run', async () => {
    const { id, name, client } = await opened.newAccount()
    await opened.platform.database.db.updateTable('accounts').set({ name: hostile }).where('name', '=', name).execute()
    const connectionId = await newHrisConnection(client)
    await client.upsertHrisUserIdentities({
      params: { connectionId },
      body: [{ identityId: 'x', email: 'x@acme.example', firstName: hostile, lastName: hostile, isContractor: false }],
    })
    await opened.operator.syncIdentities({ body: { account: hostile } })
    await opened.platform.database.db
      .updateTable('personnel')
      .set({ status_updated_at: opened.clock.now() })
      .where('account_id', '=', id)
      .execute()
    const visitor = await signedIn(opened, hostile)

    const page = await visitor.get('/personnel')
    const search = await visitor.get(
      `/personnel?q=${encodeURIComponent(hostile)}&status=${encodeURIComponent(hostile)}`,
    )
    const missing = await visitor.get(`/personnel/${encodeURIComponent(hostile)}`)

    for (const { text } of [page, search, missing]) expect(text).not.toMatch(/<script|<img src=x|onerror='/)
    expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(search.text).toContain('value="&quot;&gt;&lt;script&gt;')
  })

  test('a sync is started, announced and listed with its result', async () => {
    const acme = await newPageCompany(opened)
    await acme.send([{ identityId: 'n', email: 'new@acme.example', isContractor: false }])
    const visitor = await signedIn(opened, acme.name)

    const start = await visitor.submit('/personnel/sync', { account: acme.id, back: 'status=UNKNOWN&q=nora' })
    await ended(acme.id)
    const after = await visitor.get(start.location ?? '')
    const again = await visitor.get(start.location ?? '')

    expect([start.status, start.location]).toEqual([303, `/personnel?account=${acme.id}&q=nora&status=UNKNOWN&watch=1`])
    expect(after.text).toContain('The sync has finished.')
    expect(after.text).not.toContain('The sync has been started.')
    expect(again.text).not.toContain('The sync has finished.')
    expect(again.text).toMatch(/3 HR records in [\d.]+ m?s: 1 person created, 0 changed\./)
    expect(again.headers.get('refresh')).toBeNull()
    expect(historyOf(again.text).map((row) => [row[1], row[2], ...row.slice(4, 7)])).toEqual([
      [visitor.name, 'Finished', '3', '1', '0'],
      ['a command', 'Finished', '2', '2', '0'],
    ])
  })

  test('a failed sync is shown as failed, and no page says why', async () => {
    const acme = await newPageCompany(opened)
    const visitor = await signedIn(opened, acme.name)
    await opened.platform.database.pool.query(`
      create function refuse_${acme.id}() returns trigger language plpgsql as $$ begin raise 'secret reason'; end $$;
      create trigger refuse_${acme.id} before insert on identity_syncs for each row
        when (new.account_id = ${acme.id}) execute function refuse_${acme.id}();
    `)

    await visitor.submit('/personnel/sync', { account: acme.id })
    await ended(acme.id)
    const { text } = await visitor.get('/personnel')

    expect(text).toContain('The last sync failed')
    expect(text).not.toContain('secret reason')
    expect(historyOf(text)[0]?.slice(1)).toEqual([
      visitor.name,
      'Failed It changed nothing. The log of the platform has the reason.',
      ...['', '', '', '', ''],
    ])
  })

  test('a sync whose process ended is not shown as running', async () => {
    const acme = await newPageCompany(opened)
    const visitor = await signedIn(opened, acme.name)
    await opened.platform.database.db
      .insertInto('identity_sync_attempts')
      .values({ account_id: acme.id, trigger: 'schedule', started_by: null, started_at: opened.clock.now() })
      .execute()

    const fresh = await visitor.get('/personnel')
    opened.clock.advance(30_000)
    const late = await visitor.get('/personnel?watch=1')

    expect(fresh.text).toContain('Sync running')
    expect(late.text).toContain('The last sync was interrupted')
    expect(late.headers.get('refresh')).toBeNull()
  })

  test('one person set by hand is given back to the sync', async () => {
    const acme = await newPageCompany(opened)
    await acme.setByHand('ana@acme.example', 'OUT_OF_SCOPE')
    const visitor = await signedIn(opened, acme.name)
    const before = await visitor.get('/personnel')

    const reset = await visitor.submit('/personnel/reset', {
      account: acme.id,
      person: acme.deskId,
      back: 'source=by-hand',
    })
    const resultPage = await visitor.get(reset.location ?? '')

    expect(before.text.match(/aria-label="Reset [^"]+"/g)).toEqual([
      'aria-label="Reset Front Desk"',
      'aria-label="Reset Ana Ruiz"',
    ])
    expect([reset.status, reset.location]).toEqual([303, `/personnel?account=${acme.id}&source=by-hand`])
    expect(resultPage.text).toContain('The next sync updates 1 person again.')
    expect(namesOn(resultPage.text)).toEqual(['Ana Ruiz'])
  })

  test('everybody set by hand is given back after a confirmation', async () => {
    const [acme, other] = [await newPageCompany(opened), await newPageCompany(opened)]
    await acme.setByHand('ana@acme.example', 'OUT_OF_SCOPE')
    const visitor = await signedIn(opened, acme.name)

    const confirmation = await visitor.get(`/personnel/reset-all?account=${acme.id}`)
    const reset = await visitor.submit('/personnel/reset-all', { account: acme.id })
    const resultPage = await visitor.get(reset.location ?? '')

    expect(confirmation.text).toContain('The status or dates of 2 people of')
    expect(resultPage.text).toContain('The next sync updates 2 people again.')
    expect(resultPage.text).not.toContain('Reset everybody set by hand')
    expect((await other.person('desk@acme.example')).statusUpdatedAt).not.toBeNull()
  })

  test('people and accounts that are not there, or not of this operator, are not found', async () => {
    const [acme, other] = [await newPageCompany(opened), await newPageCompany(opened)]
    const confined = await signedIn(opened, acme.name)

    const answers = [
      await confined.get(`/personnel?account=${other.id}`),
      await confined.get('/personnel?account=0'),
      await confined.get('/personnel?account=99999999999999999999'),
      await confined.get(`/personnel/reset-all?account=${other.id}`),
      await confined.submit('/personnel/sync', { account: other.id }),
      await confined.submit('/personnel/reset', { account: other.id, person: other.deskId }),
      await confined.submit('/personnel/reset', { account: acme.id, person: other.deskId }),
      await confined.submit('/personnel/reset', { account: acme.id, person: '1e9' }),
      await confined.submit('/personnel/reset-all', { account: other.id }),
      await confined.submit('/personnel/reset-all', {}),
      await confined.get('/personnel/nothing'),
    ]

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
    expect((await other.person('desk@acme.example')).statusUpdatedAt).not.toBeNull()
  })

  test('an operator of all accounts chooses one; one of a single account has no choice', async () => {
    const [acme, other] = [await newPageCompany(opened), await newPageCompany(opened)]
    const [everywhere, confined] = [await signedIn(opened), await signedIn(opened, acme.name)]

    const choice = await everywhere.get('/personnel')
    const chosen = await everywhere.get(`/personnel?account=${other.id}`)
    const only = await confined.get('/personnel')

    expect(choice.text).toContain(`<a href="/personnel?account=${acme.id}">${acme.name}</a>`)
    expect(choice.text).toContain(`<a href="/personnel?account=${other.id}">${other.name}</a>`)
    expect(chosen.text).toContain(`Personnel of ${other.name}</h1>`)
    expect(chosen.text).toContain('Choose another account')
    expect(only.text).toContain(`Personnel of ${acme.name}</h1>`)
    expect(only.text).not.toContain('Choose another account')
  })

  test('the style sheet and the icon are for everybody', async () => {
    const visitor = newVisitor(opened)
    const { text } = await visitor.get('/personnel/sign-in')
    const [, style = ''] = /<link rel="stylesheet" href="([^"]+)">/.exec(text) ?? []
    const [, icon = ''] = /<link rel="icon" type="image\/svg\+xml" href="([^"]+)">/.exec(text) ?? []

    const answers = [await visitor.get(style), await visitor.get(icon)]

    expect(answers.map(({ status, headers }) => [status, headers.get('content-type')])).toEqual([
      [200, 'text/css; charset=utf-8'],
      [200, 'image/svg+xml'],
    ])
  })

  /** Resolves when no sync of the account runs. No event reports the end of a sync, so this queries the database. */
  async function ended(account: number): Promise<void> {
    const open = opened.platform.database.db
      .selectFrom('identity_sync_attempts')
      .select('id')
      .where('account_id', '=', account)
      .where('ended_at', 'is', null)
    await expect.poll(() => open.execute()).toEqual([])
  }
})

describe('while a sync runs in another process', () => {
  test('the page shows since when and for which account, reloads on request, and starts and resets nothing', async () => {
    await using server = await createPostgresDatabase()
    const sharedDatabase = async () => ({ at: server.at, async [Symbol.asyncDispose]() {} })
    await using opened = await openTestPlatform(sharedDatabase)
    const acme = await newPageCompany(opened)
    const visitor = await signedIn(opened, acme.name)
    await using elsewhere = await openPlatformDatabase(server.at)
    const token = await visitor.tokenOn('/personnel')
    const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const running = elsewhere.db.transaction().execute(async (trx) => {
      const { id } = await elsewhere.db
        .insertInto('identity_sync_attempts')
        .values({ account_id: acme.id, trigger: 'schedule', started_by: null, started_at: opened.clock.now() })
        .returning('id')
        .executeTakeFirstOrThrow()
      await trx.selectFrom('identity_sync_attempts').select('id').where('id', '=', id).forUpdate().execute()
      await lockForSync(trx, acme.id)
      held.resolve()
      await release.promise
    })
    await held.promise
    opened.clock.advance(90_000)

    const page = await visitor.get('/personnel')
    const watched = await visitor.get('/personnel?watch=1')
    const start = await visitor.post('/personnel/sync', { token, account: acme.id })
    const busy = await visitor.get(start.location ?? '')
    const reset = await visitor.post('/personnel/reset', { token, account: acme.id, person: acme.deskId })
    const refused = await visitor.get(reset.location ?? '')
    await visitor.post('/personnel/reset', { token, account: acme.id, person: acme.deskId })
    release.resolve()
    await running
    const late = await visitor.get('/personnel')

    expect(page.text).toMatch(
      /Sync running<\/strong> since .*10:00 UTC<\/span><\/time>, 1 min 30 s so far, started by the nightly schedule/,
    )
    expect(page.text).not.toContain('Sync now')
    expect([page.headers.get('refresh'), watched.headers.get('refresh')]).toEqual([null, '3'])
    expect(watched.text).toContain('Stop reloading')
    for (const { text, headers } of [busy, refused]) {
      expect(text).toContain('An identity sync of this account is running already.')
      expect(headers.get('refresh')).toBe('3')
    }
    expect(late.text).not.toContain('is running already')
    expect(late.text).toContain('An identity sync of this account was running. It has ended: try again.')
    expect((await acme.person('desk@acme.example')).statusUpdatedAt).not.toBeNull()
    const attempts = await opened.platform.database.db.selectFrom('identity_sync_attempts').select('trigger').execute()
    expect(attempts.map(({ trigger }) => trigger)).toEqual(['operator', 'schedule'])
  })

  test('a platform that stops lets a sync that was started on the page end first', async () => {
    await using server = await createPostgresDatabase()
    const opened = await openTestPlatform(async () => ({ at: server.at, async [Symbol.asyncDispose]() {} }))
    const acme = await newPageCompany(opened)
    const visitor = await signedIn(opened, acme.name)
    await using elsewhere = await openPlatformDatabase(server.at)
    const token = await visitor.tokenOn('/personnel')
    const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = elsewhere.db.transaction().execute(async (trx) => {
      await trx.selectFrom('custom_connections').select('id').forUpdate().execute()
      held.resolve()
      await release.promise
    })
    await held.promise

    await visitor.post('/personnel/sync', { token, account: acme.id })
    const running = await visitor.get('/personnel?watch=1')
    const stopped = opened[Symbol.asyncDispose]()
    release.resolve()
    await holding
    await stopped

    expect(running.text).toContain(`so far, started by ${visitor.name}.`)
    const last = await elsewhere.db
      .selectFrom('identity_sync_attempts')
      .select('sync_id')
      .orderBy('id', 'desc')
      .executeTakeFirst()
    expect(last).toEqual({ sync_id: expect.any(Number) })
  })
})

/** The cells of a table's rows, as text. */
function rowsOf(text: string): string[][] {
  return cellsOf(text.split('<section class="card" aria-labelledby="people">')[1]?.split('</section>')[0] ?? '')
}

function historyOf(text: string): string[][] {
  return cellsOf(text.split('<section class="card" aria-labelledby="syncs">')[1] ?? '')
}

function cellsOf(section: string): string[][] {
  const [, body = ''] = section.split('<tbody')
  return [...body.matchAll(/<tr role="row">([\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd]\b[^>]*>([\s\S]*?)<\/t[hd]>/g)].map(([, cell = '']) =>
      cell
        .replaceAll(/<[^>]+>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .replaceAll(' ,', ',')
        .trim(),
    ),
  )
}

function addressesOn(text: string): string[] {
  return [...text.matchAll(/<span class="address">([^<]*)<\/span>/g)].map(([, address = '']) => address)
}

function linkOf(text: string, rel: 'next' | 'prev'): string | null {
  const [, href] = new RegExp(`rel="${rel}" href="([^"]+)"`).exec(text) ?? []
  return href?.replaceAll('&amp;', '&') ?? null
}
