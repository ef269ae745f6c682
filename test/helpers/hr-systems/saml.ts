import type { KeyObject } from 'node:crypto'
import { SignedXml } from 'xml-crypto'

/** What a server expects of an assertion. */
export type ExpectedAssertion = {
  readonly publicKey: KeyObject
  readonly issuer: string
  /** What the attribute api_key states. */
  readonly clientId: string
  readonly subject: string
  readonly audience: string
  /** The token endpoint. */
  readonly recipient: string
  readonly now: number
}

/**
 * Checks a SAML 2.0 assertion in base64, which SuccessFactors wants in place of base64url. Only what the signature covers is read. Returns what is wrong, or null.
 */
export async function verifyAssertion(encoded: string, expected: ExpectedAssertion): Promise<string | null> {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return 'the assertion is not encoded in base64'
  const signed = signedXml(Buffer.from(encoded, 'base64').toString('utf8'), expected.publicKey)
  if (signed === null) return 'the signature is missing or wrong'
  if (!/^<(?:[\w.-]+:)?Assertion[\s>]/.test(signed)) return 'the signature does not cover the assertion'
  const problems: readonly [boolean, string][] = [
    [textOf(signed, 'Issuer') !== expected.issuer, 'the issuer is unknown'],
    [textOf(signed, 'NameID') !== expected.subject, 'the user is unknown'],
    [apiKeyOf(signed) !== expected.clientId, 'the client is unknown'],
    [textOf(signed, 'Audience') !== expected.audience, 'the audience is another one'],
    [
      attributeOf(signed, 'SubjectConfirmationData', 'Recipient') !== expected.recipient,
      'the recipient is another one',
    ],
    [!isWithin(signed, 'Conditions', expected.now), 'the assertion is not valid at this time'],
    [!isWithin(signed, 'SubjectConfirmationData', expected.now), 'the confirmation is not valid at this time'],
  ]
  return problems.find(([isBroken]) => isBroken)?.[1] ?? null
}

/** The canonical XML that the signature covers; null if there is none. */
function signedXml(xml: string, publicKey: KeyObject): string | null {
  const [signature, prefix] = /<((?:[\w.-]+:)?)Signature[\s>][\s\S]*<\/\1Signature>/.exec(xml) ?? []
  if (signature === undefined || prefix === undefined) return null
  try {
    const verifier = new SignedXml({ publicCert: publicKey, getCertFromKeyInfo: () => null })
    verifier.loadSignature(signature)
    if (!verifier.checkSignature(xml)) return null
    const references = verifier.getSignedReferences()
    return references.length === 1 ? (references[0] ?? null) : null
  } catch {
    return null
  }
}

function textOf(xml: string, name: string): string | null {
  const [, , text] = new RegExp(`<((?:[\\w.-]+:)?)${name}(?:\\s[^>]*)?>([^<]*)</\\1${name}>`).exec(xml) ?? []
  return text?.trim() ?? null
}

function apiKeyOf(xml: string): string | null {
  const [, attribute = ''] =
    /<(?:[\w.-]+:)?Attribute\s[^>]*Name="api_key"[^>]*>([\s\S]*?)<\/(?:[\w.-]+:)?Attribute>/.exec(xml) ?? []
  return textOf(attribute, 'AttributeValue')
}

function attributeOf(xml: string, element: string, name: string): string | null {
  const [tag] = new RegExp(`<(?:[\\w.-]+:)?${element}\\s[^>]*>`).exec(xml) ?? []
  const [, value] = new RegExp(`\\s${name}="([^"]*)"`).exec(tag ?? '') ?? []
  return value?.replaceAll('&amp;', '&') ?? null
}

/** Whether the time is before NotOnOrAfter, which must be there, and not before NotBefore. */
function isWithin(xml: string, element: string, now: number): boolean {
  const end = Date.parse(attributeOf(xml, element, 'NotOnOrAfter') ?? '')
  const start = attributeOf(xml, element, 'NotBefore')
  return now < end && (start === null || Date.parse(start) <= now)
}
