import { createHash, randomBytes } from 'node:crypto'
import { findAccount } from '../../../src/platform/accounts/accounts.ts'
import { hashPassword } from '../../../src/platform/operators/passwords.ts'
import { sessionSeconds } from '../../../src/platform/operators/sessions.ts'
import { newCompany } from './companies.ts'
import type { TestPlatform } from './platforms.ts'

export const password = 'correct horse battery'

/** An HTTP visitor who keeps cookies and follows no redirects. */
export function newVisitor(opened: TestPlatform) {
  const origin = new URL(opened.platform.baseUrl).origin
  const cookies = new Map<string, string>()
  const ask = async (path: string, init: RequestInit = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(origin + path, {
      ...init,
      redirect: 'manual',
      headers: { ...(cookie && { cookie }), ...init.headers },
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return {
      status: response.status,
      headers: response.headers,
      location: response.headers.get('location'),
      text: await response.text(),
    }
  }
  const get = (path: string) => ask(path)
  const post = (path: string, fields: Readonly<Record<string, string | number>>) =>
    ask(path, {
      method: 'POST',
      body: new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)])),
    })
  const tokenOn = async (path: string) => /name="token" value="([^"]+)"/.exec((await get(path)).text)?.[1] ?? ''
  return {
    cookies,
    ask,
    get,
    post,
    tokenOn,
    /** Sends a form with the token of the page. */
    submit: async (path: string, fields: Readonly<Record<string, string | number>>, from = '/personnel') =>
      post(path, { token: await tokenOn(from), ...fields }),
    signIn: async (name: string, secret = password) =>
      post('/personnel/sign-in', { token: await tokenOn('/personnel/sign-in'), name, password: secret }),
  }
}

let operators = 0
let hash: Promise<string> | undefined

/** A visitor with a session, for all accounts or for one. Signing in is skipped because hashing a password is slow on purpose. */
export async function signedIn(opened: TestPlatform, account: string | null = null) {
  const { db } = opened.platform.database
  operators += 1
  const name = `operator ${operators}`
  hash ??= hashPassword(password)
  const [token, now] = [randomBytes(32).toString('base64url'), opened.clock.now()]
  const { id } = await db
    .insertInto('operators')
    .values({
      name,
      account_id: account === null ? null : (await findAccount(db, account)).id,
      password: await hash,
      created_at: now,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('operator_sessions')
    .values({
      hash: createHash('sha256').update(token).digest('hex'),
      operator_id: id,
      created_at: now,
      expires_at: new Date(now.getTime() + sessionSeconds * 1000),
    })
    .execute()
  const visitor = newVisitor(opened)
  visitor.cookies.set('rollcall_personnel', token)
  return { ...visitor, name }
}

/** A company with people of every kind: two from HR, one of them set by hand, and one whom only the directory knows. */
export async function newPageCompany(opened: TestPlatform) {
  const company = await newCompany(opened, [{ email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg' }])
  await company.send([
    { identityId: 'a', email: 'ana@acme.example', firstName: 'Ana', lastName: 'Ruiz', isContractor: false },
    { identityId: 'd', email: 'desk@acme.example', firstName: 'Front', lastName: 'Desk', isContractor: true },
  ])
  await company.sync()
  const deskId = await company.setByHand('desk@acme.example', 'OUT_OF_SCOPE')
  const { id } = await opened.platform.database.db
    .selectFrom('accounts')
    .select('id')
    .where('name', '=', company.name)
    .executeTakeFirstOrThrow()
  return { ...company, id, deskId }
}

/** The names of the people on a page, from top to bottom. */
export function namesOn(text: string): string[] {
  return [...text.matchAll(/<span class="name">([^<]*)<\/span>/g)].map(([, name = '']) => name)
}
