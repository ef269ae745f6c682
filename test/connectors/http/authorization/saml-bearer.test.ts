import { describe, expect, test } from 'vitest'
import { SignedXml } from 'xml-crypto'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { openHttp, rowsOf } from '../../../helpers/sources/hr-server.ts'
import { certifiedKey, rsaKeys } from '../../../helpers/sources/signing-keys.ts'
import { peopleOf, startTokenSystem, type TokenSystem } from '../../../helpers/sources/token-system.ts'

const rsa = rsaKeys()
const publicPem = String(rsa.publicKey.export({ type: 'spki', format: 'pem' }))
const secrets = { 'oauth2.privateKey': rsa.pem }

function samlBearer({ url }: TokenSystem) {
  return {
    grant: 'samlBearer',
    tokenUrl: `${url}/token`,
    clientId: 'client-1',
    privateKey: 'set',
    issuer: 'rollcall',
    subject: 'O\'Hara & "Söhne"</saml:NameID><x>',
    audience: 'www.hr.example',
    parameters: { company_id: 'acme' },
  } as const
}

/** The part of an assertion that its signature covers. Throws if the signature is wrong. */
function signedPart(assertion: string, certificate: string): string {
  const [signatureText = ''] = /<ds:Signature .*<\/ds:Signature>/s.exec(assertion) ?? []
  const signature = new SignedXml({ publicCert: certificate })
  signature.loadSignature(signatureText)
  if (!signature.checkSignature(assertion)) throw new Error('the signature is wrong')
  const [signed = ''] = signature.getSignedReferences()
  return signed
}

async function assertionFrom(
  oauth2: object,
  system: TokenSystem,
  further: Readonly<Record<string, string>> = {},
  now = new Date('2026-11-20T12:00:00Z'),
) {
  await using folder = await temporaryFolder()
  const settings = { ...peopleOf(system), oauth2: { ...samlBearer(system), ...oauth2 } }
  await rowsOf(
    await openHttp(settings, { folder: folder.path, secrets: { ...secrets, ...further }, options: { now: () => now } }),
  )
  return system.tokenRequests[0]?.form ?? expect.fail('no token was requested')
}

describe('a SAML assertion', () => {
  test('states issuer, subject, recipient, audience, times and attributes, and is signed', async () => {
    await using system = await startTokenSystem()

    const form = await assertionFrom({ attributes: { use_username: 'true' } }, system)

    const assertion = Buffer.from(form.get('assertion') ?? '', 'base64url').toString()
    const signed = signedPart(assertion, publicPem)
    expect(signed).toMatch(/^<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_[0-9a-f-]{36}"/)
    for (const part of [
      'IssueInstant="2026-11-20T12:00:00.000Z" Version="2.0"',
      '<saml:Issuer>rollcall</saml:Issuer>',
      'nameid-format:unspecified">O\'Hara &amp; "Söhne"&lt;/saml:NameID&gt;&lt;x&gt;</saml:NameID>',
      '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">',
      `NotOnOrAfter="2026-11-20T12:05:00.000Z" Recipient="${system.url}/token"`,
      '<saml:Conditions NotBefore="2026-11-20T11:59:00.000Z" NotOnOrAfter="2026-11-20T12:05:00.000Z">',
      '<saml:AudienceRestriction><saml:Audience>www.hr.example</saml:Audience></saml:AudienceRestriction>',
      '<saml:AuthnStatement AuthnInstant="2026-11-20T12:00:00.000Z"',
      'Name="api_key"><saml:AttributeValue xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string">client-1<',
      'xsi:type="xs:string">true<',
    ])
      expect(signed).toContain(part)
    expect(assertion).toContain('</saml:Issuer><ds:Signature')
    expect(assertion).toContain('http://www.w3.org/2001/04/xmldsig-more#rsa-sha256')
    expect(assertion).not.toContain('X509Certificate')
  })

  test('is sent in base64url with the parameters, and with the client in the body', async () => {
    await using system = await startTokenSystem()

    const form = await assertionFrom({}, system)

    expect(form.get('assertion')).toMatch(/^[\w-]+$/)
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:saml2-bearer')
    expect([form.get('company_id'), form.get('client_id')]).toEqual(['acme', 'client-1'])
  })

  test('is sent in base64 where a system wants that, with another attribute and secrets', async () => {
    await using system = await startTokenSystem()
    const oauth2 = { assertionEncoding: 'base64', clientIdAttribute: 'client_id', subjectFormat: 'emailAddress' }

    const form = await assertionFrom({ ...oauth2, attributes: { use_email: 'set' } }, system, {
      'oauth2.clientId': 'client-9',
      'oauth2.subject': 'ana@acme.example',
      'oauth2.attributes.use_email': 'true',
    })

    const text = form.get('assertion') ?? ''
    const signed = signedPart(Buffer.from(text, 'base64').toString(), publicPem)
    expect(text.length % 4).toBe(0)
    expect(signed).toMatch(/Name="client_id"><saml:AttributeValue [^>]*>client-9</)
    expect(signed).toMatch(/Name="use_email"><saml:AttributeValue [^>]*>true</)
    expect(signed).toContain('nameid-format:emailAddress">ana@acme.example<')
  })

  test('holds the certificate if it is named', async () => {
    await using folder = await temporaryFolder()
    const { pem, certificate, file } = await certifiedKey(folder.path, 'client', 3650)
    await using system = await startTokenSystem()

    const form = await assertionFrom({ certificate: file }, system, { 'oauth2.privateKey': pem })

    const assertion = Buffer.from(form.get('assertion') ?? '', 'base64url').toString()
    expect(signedPart(assertion, certificate)).toContain('rollcall')
    expect(assertion).toContain(`<ds:X509Certificate>${certificate.split('\n').slice(1, 3).join('')}`)
  })

  test.each<[string, { now?: Date; key?: string; file?: string }, RegExp]>([
    [
      'expired',
      { now: new Date('2200-01-01') },
      /^the certificate of oauth2.certificate expired on \d{4}-\d\d-\d\d: renew it/,
    ],
    ['of another key', { key: rsa.pem }, /^oauth2.certificate belongs to another key than oauth2.privateKey/],
    ['no certificate', { file: 'client.key' }, /^the file that oauth2.certificate names holds no certificate/],
    ['missing', { file: 'none.pem' }, /^cannot read .*none.pem, which oauth2.certificate names/],
  ])('with a certificate that is %s is not sent', async (_case, { now, key, file }, expected) => {
    await using folder = await temporaryFolder()
    const certified = await certifiedKey(folder.path, 'client', 3650)
    await using system = await startTokenSystem()
    const certificate = file === undefined ? certified.file : `${folder.path}/${file}`

    const made = assertionFrom({ certificate }, system, { 'oauth2.privateKey': key ?? certified.pem }, now)

    await expect(made).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(expected),
    })
    expect(system.requests).toEqual([])
  })

  test('with characters that XML cannot hold is not sent', async () => {
    await using system = await startTokenSystem()

    const made = assertionFrom({}, system, { 'oauth2.subject': 'hidden\u0000' })

    await expect(made).rejects.toThrow('holds a character that no assertion can hold')
    await expect(made).rejects.toMatchObject({ message: expect.not.stringContaining('hidden') })
  })
})
