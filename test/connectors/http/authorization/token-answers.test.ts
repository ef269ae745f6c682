import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { type Answer, json, makeCertificates, openHttp, startHrServer } from '../../../helpers/sources/hr-server.ts'
import { clientCredentials, peopleOf, startTokenSystem } from '../../../helpers/sources/token-system.ts'

const secrets = { 'oauth2.clientSecret': 'Hidden-1' }
const description = 'Ana Hidden \u001b[31m'

function refused(status: number, content: unknown): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))
  }
}

function answered(status: number, type: string, content: string): Answer {
  return (_request, response) => response.writeHead(status, { 'content-type': type }).end(content)
}

async function failureFor(answer: Answer, settings: object = {}) {
  await using system = await startTokenSystem({ onToken: () => answer })
  await using folder = await temporaryFolder()
  const failure = await openHttp(
    { ...peopleOf(system), oauth2: clientCredentials(system), ...settings },
    { folder: folder.path, secrets },
  ).then(
    () => expect.fail('it was opened'),
    (error: unknown) => error,
  )
  return { failure, tokenRequests: system.tokenRequests.length, listRequests: system.listRequests.length }
}

describe('a token endpoint that', () => {
  test.each([
    ['answers with a page', answered(200, 'text/html', `<p>${description}`), /answers with text\/html, a login page/],
    ['answers with no JSON', answered(200, 'application/json', `access_token=${description}`), /is not valid JSON/],
    ['answers with a part', answered(200, 'application/json', '{"access_token":"to'), /is not valid JSON/],
    ['answers with nothing', answered(200, 'application/json', ''), /answers with nothing: check oauth2.tokenUrl/],
    ['answers with 204', answered(204, 'application/json', ''), /has nothing to give \(status 204\)/],
    ['has no token', json({ token: description }), /answers without an access_token: check oauth2.tokenUrl/],
    ['has a token that is a list', json({ access_token: [description] }), /answers without an access_token/],
    ['has a token with line ends', json({ access_token: `a\r\n${description}` }), /a token that no header can carry/],
    [
      'has another kind of token',
      json({ access_token: 'a', token_type: 'mac' }),
      /a token whose token_type is not Bearer: let the HR system issue bearer tokens/,
    ],
    ['is somewhere else', answered(404, 'text/html', description), /knows nothing under this address \(status 404\)/],
    [
      'shows a page for wrong credentials',
      answered(401, 'text/html', description),
      /client \(status 401\): check clientId/,
    ],
    ['has words of its own for them', refused(403, { error: description }), /\(status 403\): .* and clientCertificate/],
    [
      'does not know the client',
      refused(401, { error: 'invalid_client', error_description: description }),
      /does not accept the client \(invalid_client\): check clientId and clientSecret, whether they have expired/,
    ],
    [
      'does not know the client and says so with a success',
      refused(200, { error: 'invalid_client' }),
      /does not accept the client \(invalid_client\)/,
    ],
    [
      'does not grant the scope',
      refused(400, { error: 'invalid_scope', error_description: description }),
      /does not grant the scope \(invalid_scope\): check scope/,
    ],
    ['forbids the grant', refused(400, { error: 'unauthorized_client' }), /allow it in the HR system/],
    ['lacks the grant', refused(400, { error: 'unsupported_grant_type' }), /check grant and tokenUrl/],
    ['does not understand', refused(400, { error: 'invalid_request' }), /check grant, scope and parameters/],
    ['does not know the target', refused(400, { error: 'invalid_target' }), /check audience and resource/],
    ['refuses the credentials', refused(400, { error: 'invalid_grant' }), /accept the credentials \(invalid_grant\)/],
    ['has an error of its own', refused(400, { error: description }), /understand the request \(status 400\)/],
    ['has an error like a method', refused(400, { error: 'constructor' }), /understand the request \(status 400\)/],
    [
      'redirects',
      ((_request, response) => response.writeHead(307, { location: '/elsewhere' }).end()) as Answer,
      /redirects \(status 307\): write the address that it redirects to as oauth2.tokenUrl/,
    ],
  ])('%s has a sentence with what helps, without the words of the server', async (_case, answer, expected) => {
    const { failure, tokenRequests, listRequests } = await failureFor(answer)

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(expected) })
    expect(failure).toMatchObject({ message: expect.stringMatching(/^http:\/\/127.0.0.1:\d+\/token /) })
    expect(JSON.stringify([String(failure), (failure as Error).cause ?? ''])).not.toMatch(/Hidden|\[31m/)
    expect([tokenRequests, listRequests]).toEqual([1, 0])
  })

  test.each([
    ['is in trouble', refused(500, {}), 1],
    ['is not there', answered(503, 'text/html', ''), 4],
    ['cannot answer now', refused(400, { error: 'temporarily_unavailable' }), 1],
    ['breaks the connection', ((_request, response) => response.destroy()) as Answer, 4],
    ['limits requests', answered(429, 'text/plain', ''), 12],
  ])('%s can be tried again', async (_case, answer, attempts) => {
    const { failure, tokenRequests } = await failureFor(answer)

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(tokenRequests).toBe(attempts)
  })

  test('answers without end is refused', async () => {
    const endless: Answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const send = () => {
        while (!response.destroyed && response.write('x'.repeat(64 * 1024)));
      }
      response.on('drain', send)
      send()
    }

    const { failure } = await failureFor(endless)

    expect(failure).toMatchObject({
      message: expect.stringMatching(/sends more than 1048576 bytes: check the address$/),
    })
  })

  test.each([
    ['never answers', () => {}, { idleTimeoutMs: 100 }, /token stayed silent for too long/],
    ['never answers within the whole time', () => {}, { totalTimeoutMs: 200 }, /people took longer than 200 ms/],
  ])('%s is given up', async (_case, answer, settings, expected) => {
    const { failure } = await failureFor(answer, settings)

    expect(failure).toMatchObject({ code: 'source_unreachable', message: expect.stringMatching(expected) })
  })

  test('leads to a private address is refused before the secret is sent', async () => {
    await using server = await startHrServer(json([]))
    await using folder = await temporaryFolder()
    const oauth2 = { ...clientCredentials(server), tokenUrl: `https://login.example:${server.port}/token` }
    const settings = { url: 'https://hr.example/people', allowPrivate: false, oauth2 }
    const resolve = async (host: string) => [{ address: host === 'login.example' ? '127.0.0.1' : '8.8.8.8', family: 4 }]

    const opening = openHttp(settings, { folder: folder.path, secrets, resolve })

    await expect(opening).rejects.toThrow(
      'login.example leads to 127.0.0.1, which is no address of the public internet',
    )
    expect(server.requests).toEqual([])
  })

  test('has an expired certificate is refused before the secret is sent', async () => {
    await using folder = await temporaryFolder()
    const { expired, authorityFile } = await makeCertificates(folder.path)
    await using tokens = await startTokenSystem({ tls: expired })
    await using list = await startHrServer(json([]))
    const settings = { url: list.url, ca: authorityFile, oauth2: clientCredentials(tokens) }

    const opening = openHttp(settings, { folder: folder.path, secrets })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(
        /\/token shows a certificate that has expired \(CERT_HAS_EXPIRED\): let its administrator renew it/,
      ),
    })
    expect(tokens.tokenRequests).toEqual([])
  })
})
