import { gzipSync } from 'node:zlib'
import { armor, enums } from 'openpgp'
import { describe, expect, test } from 'vitest'
import { allRows, type Format, nextDescriptor, openFile, readCsv, refusalOf } from '../../../helpers/sources/csv.ts'
import { exportFolder } from '../../../helpers/sources/exports.ts'
import { encrypted, type KeyOwner, keyOwner, senseless, signedOnly } from '../../../helpers/sources/openpgp.ts'
import { zipOf } from '../../../helpers/sources/zip.ts'

const [us, withAead, somebodyElse, hr, protectedOwner] = await Promise.all([
  keyOwner(),
  keyOwner({ aead: true }),
  keyOwner(),
  keyOwner(),
  keyOwner({ passphrase: 'open sesame' }),
])
const text = `id,name\n${Array.from({ length: 20_000 }, (_, index) => `${index},Ana ${index * 7919}\n`).join('')}`

describe('an encrypted export', () => {
  test.for<[string, () => Promise<Uint8Array | string>]>([
    ['as it is', () => encrypted(text, { to: us })],
    ['compressed by OpenPGP', () => encrypted(text, { to: us, compressed: true })],
    ['armored', async () => armor(enums.armor.message, await encrypted(text, { to: us }))],
    ['compressed with gzip before', () => encrypted(gzipSync(text), { to: us })],
    ['zipped before', async () => encrypted(await zipOf({ 'people.csv': text }), { to: us })],
    ['signed by somebody whom nobody asks for', () => encrypted(text, { to: us, signedBy: somebodyElse })],
  ])('is decrypted and read: %s', async ([, make]) => {
    const { headers, rows, lines } = await readCsv(await make(), settings(us), { secrets: secretsOf(us) })

    expect(headers).toEqual(['id', 'name'])
    expect(rows).toHaveLength(20_000)
    expect(rows.at(-1)).toEqual(['19999', `Ana ${19_999 * 7919}`])
    expect(lines.at(-1)).toBe(20_001)
  })

  test('is decrypted where it proves every piece of itself', async () => {
    const message = await encrypted(text, { to: withAead })

    const { rows } = await readCsv(message, settings(withAead), { secrets: secretsOf(withAead) })

    expect(rows).toHaveLength(20_000)
  })

  test('is decrypted with a protected key and its passphrase', async () => {
    const message = await encrypted(text, { to: protectedOwner })
    const secrets = { ...secretsOf(protectedOwner), 'decrypt.passphrase': 'open sesame' }

    const { rows } = await readCsv(message, settings(protectedOwner), { secrets })

    expect(rows).toHaveLength(20_000)
  })

  test('is read where it carries the signature that is asked for', async () => {
    const message = await encrypted(text, { to: us, signedBy: hr })

    const { rows } = await readCsv(message, settings(us, hr), { secrets: secretsOf(us) })

    expect(rows).toHaveLength(20_000)
  })
})

describe('an encrypted export is refused', () => {
  test.for<[string, () => Promise<Uint8Array | string>, string]>([
    [
      'that is for somebody else',
      () => encrypted(text, { to: somebodyElse }),
      'people.csv is encrypted for another key: check decrypt.privateKey',
    ],
    ['that is none', async () => text, 'people.csv is no OpenPGP message: check decrypt'],
    [
      'that is only signed',
      () => signedOnly(text, hr),
      'people.csv is an OpenPGP message that is not encrypted: have it encrypted for decrypt.privateKey',
    ],
    [
      'that has an armor without end',
      async () => (await armored(us)).slice(0, -400),
      'people.csv is a damaged OpenPGP message: the export was cut off or altered',
    ],
    ['that has an altered armor', async () => flipped(Buffer.from(await armored(us)), 3000).toString(), 'people.csv'],
  ])('%s', async ([, make, message]) => {
    expect(await refusalOf(await make(), settings(us), { secrets: secretsOf(us) })).toContain(message)
  })

  test.for<[string, KeyOwner | undefined]>([
    ['by nobody', undefined],
    ['by somebody else', somebodyElse],
  ])('that is signed %s where the signature of the sender is asked for', async ([, signedBy]) => {
    const message = await encrypted(text, signedBy ? { to: us, signedBy } : { to: us })

    const refusal = await refusalOf(message, settings(us, hr), { secrets: secretsOf(us) })

    expect(refusal).toBe('people.csv is not signed by the sender: check decrypt.verifyWith')
  })

  test.for([
    ['one proof at its end', us],
    ['a proof of every piece', withAead],
  ] as const)('wherever it is cut off, and wherever a byte is altered (%s)', async ([, to]) => {
    const message = Buffer.from(await encrypted('id,name\n1,Ana\n2,Ben\n', { to }))
    const refusals = []

    for (let at = message.length - 45; at < message.length; at += 1) {
      for (const broken of [message.subarray(0, at), flipped(message, at)]) {
        refusals.push(await refusalOf(broken, settings(to), { secrets: secretsOf(to) }))
      }
    }

    expect(refusals).toHaveLength(90)
    expect(refusals.filter((refusal) => !/ OpenPGP message|altered or cut off|another key/.test(refusal))).toEqual([])
  })

  test('that holds no sense, instead of waiting for some', async () => {
    const refusal = await refusalOf(await senseless(us), settings(us), { secrets: secretsOf(us) })

    expect(refusal).toBe(
      'people.csv is a damaged OpenPGP message: the export was cut off or altered: have it sent again',
    )
  })

  test.for<[string, () => Promise<Uint8Array>]>([
    ['gzip', async () => gzipSync(text)],
    ['zip', () => zipOf({ 'people.csv': text })],
  ])('whose proof at the very end fails, though the %s in it is whole', async ([, wrapped]) => {
    const message = Buffer.from(await encrypted(await wrapped(), { to: us }))

    const refusal = await refusalOf(flipped(message, message.length - 5), settings(us), { secrets: secretsOf(us) })

    expect(refusal).toBe('people.csv was altered or cut off on its way: have it sent again')
  })

  test.for<[string, Record<string, string>, string]>([
    ['without a key', {}, 'there is no key to decrypt the export with: set decrypt.privateKey'],
    ['with a key that is none', { 'decrypt.privateKey': 'hello' }, 'decrypt.privateKey is no OpenPGP private key'],
    [
      'with a public key in its place',
      { 'decrypt.privateKey': us.publicKey },
      'decrypt.privateKey is no OpenPGP private key',
    ],
    [
      'without the passphrase',
      { 'decrypt.privateKey': protectedOwner.privateKey },
      'decrypt.privateKey is protected: set decrypt.passphrase',
    ],
    [
      'with a wrong passphrase',
      { 'decrypt.privateKey': protectedOwner.privateKey, 'decrypt.passphrase': 'rumpelstilzchen' },
      'decrypt.passphrase does not open decrypt.privateKey: check both',
    ],
  ])('%s', async ([, secrets, message]) => {
    const content = await encrypted(text, { to: protectedOwner })

    const refusal = await refusalOf(content, settings(protectedOwner), { secrets })

    expect(refusal).toContain(message)
    expect(refusal).not.toMatch(/rumpel|BEGIN PGP P.*BEGIN/)
  })

  test('that nobody said is encrypted, with a word about it', async () => {
    expect(await refusalOf(await armored(us))).toBe('people.csv is encrypted with OpenPGP: configure decrypt')
  })

  test('that unpacks to more than it may', async () => {
    const message = await encrypted('x,y\n'.repeat(10_000), { to: us, compressed: true })

    const refusal = await refusalOf(message, { ...settings(us), unpackedBytes: 30_000 }, { secrets: secretsOf(us) })

    expect(refusal).toBe('people.csv unpacks to more than 30000 bytes: raise unpackedBytes if that is right')
  })
})

describe('reading an encrypted export', () => {
  test('ends at an abort, with its reason', async () => {
    await using folder = await exportFolder()
    await folder.write('people.csv', await encrypted(text, { to: us }))
    const controller = new AbortController()
    const options = { secrets: secretsOf(us), signal: controller.signal }
    const opened = await openFile(folder, 'people.csv', settings(us), options)

    controller.abort(new Error('enough'))

    await expect(allRows(opened)).rejects.toThrow('enough')
  })

  test('leaves nothing open where it does not reach the end', async () => {
    await using folder = await exportFolder()
    const file = await folder.write('people.csv', await encrypted(text, { to: us }))
    const before = await nextDescriptor(file)

    await openFile(folder, 'people.csv', settings(us), { secrets: secretsOf(us) })
    const { rows } = await openFile(folder, 'people.csv', settings(us), { secrets: secretsOf(us) })
    const slices = rows[Symbol.asyncIterator]()
    await slices.next()
    await slices.return?.()

    expect(await nextDescriptor(file)).toBe(before)
  })

  test('refuses what stands behind the message', async () => {
    const message = Buffer.from(await encrypted(text, { to: us }))

    for (const junk of [Buffer.from('junk'), message]) {
      const refusal = await refusalOf(Buffer.concat([message, junk]), settings(us), { secrets: secretsOf(us) })

      expect(refusal).toContain('people.csv is a damaged OpenPGP message')
    }
  })
})

function settings(owner: KeyOwner, sender?: KeyOwner): Format {
  return { decrypt: { privateKey: owner.privateKey, ...(sender && { verifyWith: sender.publicKey }) } }
}

function secretsOf({ privateKey }: KeyOwner) {
  return { 'decrypt.privateKey': privateKey }
}

async function armored(to: KeyOwner): Promise<string> {
  return armor(enums.armor.message, await encrypted(text, { to }))
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}
