import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** How the provider's answers differ from correct ones. */
export type Lies = {
  /** Claims of the ID token that replace the correct ones. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** Whether the token is signed with a key that the provider does not publish. */
  readonly forged?: boolean
  /** Whether the provider's answers are unreadable. */
  readonly broken?: boolean
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const keyId = 'the key'

/** A small provider of OpenID Connect that can lie. It signs in everybody, as the person that `claims` describe. */
export async function startLyingProvider({ clientId }: { clientId: string }) {
  let lies: Lies = {}
  let person: Readonly<Record<string, unknown>> = {}
  const codes = new Map<string, { nonce: string; challenge: string }>()
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', issuer)
    if (lies.broken) return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>')
    if (url.pathname === '/.well-known/openid-configuration') return json(response, metadata())
    if (url.pathname === '/keys')
      return json(response, {
        keys: [{ ...publicKey.export({ format: 'jwk' }), kid: keyId, alg: 'RS256', use: 'sig' }],
      })
    if (url.pathname === '/token') {
      const granted = token(new URLSearchParams(await text(request)))
      return granted === null ? json(response, { error: 'invalid_grant' }, 400) : json(response, granted)
    }
    response.writeHead(404).end()
  }

  function metadata(): object {
    return {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    }
  }

  function token(form: URLSearchParams): object | null {
    const pending = codes.get(form.get('code') ?? '')
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (!pending || pending.challenge !== proof) return null
    codes.delete(form.get('code') ?? '')
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: issuer, aud: clientId, iat: now, exp: now + 300, nonce: pending.nonce, sub: 'u1', ...person }
    const idToken = signed({ ...claims, ...lies.claims }, lies.forged ?? false)
    return { access_token: randomUUID(), token_type: 'Bearer', expires_in: 300, id_token: idToken }
  }

  return {
    issuer,
    lie: (next: Lies) => {
      lies = next
    },
    is: (claims: Readonly<Record<string, unknown>>) => {
      person = claims
    },
    /** The address to which the provider sends a browser back. */
    letIn(authorization: string): URL {
      const query = new URL(authorization).searchParams
      const code = randomUUID()
      codes.set(code, { nonce: query.get('nonce') ?? '', challenge: query.get('code_challenge') ?? '' })
      const back = new URL(query.get('redirect_uri') ?? '')
      back.searchParams.set('code', code)
      back.searchParams.set('state', query.get('state') ?? '')
      return back
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function signed(claims: object, forged: boolean): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const unsigned = `${part({ alg: 'RS256', kid: keyId })}.${part(claims)}`
  return `${unsigned}.${sign('RSA-SHA256', Buffer.from(unsigned), forged ? otherKey : privateKey).toString('base64url')}`
}

function json(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function text(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}
