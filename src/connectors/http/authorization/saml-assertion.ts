import { type KeyObject, randomUUID, X509Certificate } from 'node:crypto'
import { withOptionalPackage } from '../../../system/optional-package.ts'
import { unreadable } from '../../file/failures.ts'
import { withSecrets } from '../client/secrets.ts'
import { checkNotExpired, readPemFile } from '../client/tls.ts'
import { type AssertionGrant, readParties } from './assertion.ts'
import { readSigningKey } from './signing-key.ts'
import type { TokenContext } from './token-client.ts'
import { readClientId } from './token-grant.ts'

type SamlGrant = Extract<AssertionGrant, { grant: 'samlBearer' }>

type AssertionFields = {
  readonly issuer: string
  readonly subject: string
  readonly subjectFormat: string
  readonly audience: string
  readonly recipient: string
  readonly attributes: Readonly<Record<string, string>>
  readonly now: Date
  readonly lifetimeSeconds: number
}

const namespaces = {
  saml: 'urn:oasis:names:tc:SAML:2.0:assertion',
  xs: 'http://www.w3.org/2001/XMLSchema',
  xsi: 'http://www.w3.org/2001/XMLSchema-instance',
}
const exclusiveForm = 'http://www.w3.org/2001/10/xml-exc-c14n#'
// The clock of the server may be a little slow.
const slackMs = 60_000

/** A signed SAML 2.0 assertion that states for whom an access token is requested (RFC 7522), in base64 as the settings want it. */
export async function signSamlAssertion(oauth2: SamlGrant, options: TokenContext): Promise<string> {
  const { audience, tokenUrl, lifetimeSeconds, subjectFormat, clientIdAttribute } = oauth2
  const now = options.clock.now()
  const key = await readSigningKey(options, 'RSA-SHA256')
  const certificate = await readCertificate(oauth2, key, options)
  const configured = (await withSecrets(
    options.context,
    'oauth2.attributes',
    oauth2.attributes,
  )) as typeof oauth2.attributes
  const text = assertionText({
    ...(await readParties(oauth2, options)),
    subjectFormat: `urn:oasis:names:tc:SAML:1.1:nameid-format:${subjectFormat}`,
    audience,
    recipient: tokenUrl,
    attributes: { [clientIdAttribute]: await readClientId(oauth2, options), ...configured },
    now,
    lifetimeSeconds,
  })
  const signed = await signXml(text, key, certificate)
  return Buffer.from(signed).toString(oauth2.assertionEncoding)
}

function assertionText(fields: AssertionFields): string {
  const { issuer, subject, subjectFormat, audience, recipient, attributes, now, lifetimeSeconds } = fields
  const issued = now.toISOString()
  const begin = new Date(now.getTime() - slackMs).toISOString()
  const end = new Date(now.getTime() + lifetimeSeconds * 1000).toISOString()
  const attributeTexts = Object.entries(attributes).map(
    ([name, value]) =>
      `<saml:Attribute Name="${xml(name)}"><saml:AttributeValue xsi:type="xs:string">${xml(value)}</saml:AttributeValue></saml:Attribute>`,
  )
  const { saml, xs, xsi } = namespaces
  return [
    `<saml:Assertion xmlns:saml="${saml}" xmlns:xs="${xs}" xmlns:xsi="${xsi}" ID="_${randomUUID()}" IssueInstant="${issued}" Version="2.0">`,
    `<saml:Issuer>${xml(issuer)}</saml:Issuer>`,
    `<saml:Subject><saml:NameID Format="${subjectFormat}">${xml(subject)}</saml:NameID>`,
    '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">',
    `<saml:SubjectConfirmationData NotOnOrAfter="${end}" Recipient="${xml(recipient)}"/>`,
    '</saml:SubjectConfirmation></saml:Subject>',
    `<saml:Conditions NotBefore="${begin}" NotOnOrAfter="${end}">`,
    `<saml:AudienceRestriction><saml:Audience>${xml(audience)}</saml:Audience></saml:AudienceRestriction></saml:Conditions>`,
    `<saml:AuthnStatement AuthnInstant="${issued}" SessionIndex="_${randomUUID()}"><saml:AuthnContext>`,
    '<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:unspecified</saml:AuthnContextClassRef>',
    '</saml:AuthnContext></saml:AuthnStatement>',
    `<saml:AttributeStatement>${attributeTexts.join('')}</saml:AttributeStatement>`,
    '</saml:Assertion>',
  ].join('')
}

async function signXml(text: string, key: KeyObject, certificate: string | undefined): Promise<string> {
  const xmlCrypto = { name: 'xml-crypto', use: 'grant: samlBearer' }
  const { SignedXml } = await withOptionalPackage(() => import('xml-crypto'), xmlCrypto)
  const signature = new SignedXml({
    privateKey: key,
    publicCert: certificate,
    signatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: exclusiveForm,
    getKeyInfoContent: SignedXml.getKeyInfoContent,
  })
  signature.addReference({
    xpath: "/*[local-name(.)='Assertion']",
    digestAlgorithm: 'http://www.w3.org/2001/04/xmlenc#sha256',
    transforms: ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusiveForm],
  })
  // The schema of SAML wants the signature behind the issuer.
  const location = { reference: "/*/*[local-name(.)='Issuer']", action: 'after' } as const
  signature.computeSignature(text, { prefix: 'ds', location })
  return signature.getSignedXml()
}

async function readCertificate(oauth2: SamlGrant, key: KeyObject, options: TokenContext): Promise<string | undefined> {
  const { certificate: path } = oauth2
  if (path === undefined) return undefined
  const pem = await readPemFile(path, 'oauth2.certificate', options.context)
  const certificate = parseCertificate(pem)
  if (!certificate.checkPrivateKey(key))
    throw unreadable(
      'oauth2.certificate belongs to another key than oauth2.privateKey',
      'write the two that were made together',
    )
  checkNotExpired(pem, 'oauth2.certificate', options.clock.now())
  return pem
}

function parseCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw unreadable('the file that oauth2.certificate names holds no certificate', 'write it in PEM')
  }
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** A text as XML. Refuses characters that XML cannot hold. */
function xml(text: string): string {
  if (/^[\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]*$/.test(text))
    return text.replaceAll(/[&<>"]/g, (sign) => escapes[sign] ?? sign)
  throw unreadable('a setting of oauth2 holds a character that no assertion can hold', 'check its files for line ends')
}
