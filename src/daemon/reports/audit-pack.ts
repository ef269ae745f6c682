import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { LeaverReport } from '../../contract/control/leavers.ts'
import { pluralize } from '../../identity/pluralize.ts'
import { type AuditKey, publicPem } from '../../store/audit/key.ts'
import { jsonText } from '../../text/escape.ts'
import { leaversCsv } from './leavers-csv.ts'
import { type Population, populationFiles } from './population-files.ts'

/** A file of a pack. Content that is not text is in base64. */
type PackFile = { readonly name: string; readonly content: string; readonly encoding: 'utf8' | 'base64' }

/**
 * The pack for an auditor: the report, the populations at both ends of its period, the audit entries about its people, and the proof that the installation with this key made both. It
 * is verified without Rollcall.
 */
export async function auditPack(
  report: LeaverReport,
  { audit, key, populations }: { audit: readonly string[]; key: AuditKey; populations: readonly Population[] },
): Promise<PackFile[]> {
  const publicKey = publicPem(key.publicKey)
  // Loading the chart library takes as long as a status.
  const { leaversPage } = await import('./leavers-page.ts')
  const contents: Readonly<Record<string, string>> = {
    'report.html': leaversPage(report),
    'report.csv': leaversCsv(report),
    'report.json': jsonText(report),
    ...populationFiles(populations),
    'audit.jsonl': audit.map((line) => `${line}\n`).join(''),
    'HOW-TO-VERIFY.txt': howToVerify(report, populations),
    ...(await scripts()),
    'public-key.pem': publicKey,
  }
  const sums = Object.entries(contents).map(
    ([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`,
  )
  // The first line keeps the signature from being valid for anything else.
  const manifest = `# rollcall report of leavers, ${report.from} to ${report.to}, made at ${report.madeAt}\n${sums.join('')}`
  return [
    ...Object.entries(contents).map(([name, content]) => ({ name, content, encoding: 'utf8' as const })),
    { name: 'MANIFEST', content: manifest, encoding: 'utf8' },
    { name: 'MANIFEST.sig', content: key.sign(manifest), encoding: 'base64' },
  ]
}

/** The scripts that do the steps of the page, by name. */
async function scripts(): Promise<Readonly<Record<string, string>>> {
  const names = ['verify.mjs', 'verify-population.mjs', 'verify-nights.mjs']
  const contents = names.map(async (name) => [name, await readFile(new URL(name, import.meta.url), 'utf8')])
  return Object.fromEntries(await Promise.all(contents))
}

/** What the pack no longer holds, a line for each connection. */
function removedText(populations: readonly Population[]): string {
  const lines = populations.flatMap(({ connection, removed, start }) => {
    const [first, last] = [removed[0], removed.at(-1)]
    if (!first || !last) return []
    const begin = start && start.madeAt >= first.at ? `; its population begins at ${start.madeAt}` : ''
    return [`  ${connection}: ${pluralize(removed.length, 'statement')} from ${first.at} to ${last.at}${begin}\n`]
  })
  if (lines.length === 0) return ''
  return `
This pack is not complete. After their retention these population statements were removed, and with them what they would show:

${lines.join('')}`
}

function howToVerify({ from, to, madeAt }: LeaverReport, populations: readonly Population[]): string {
  return `How to verify this pack
=======================

It reports on the people whose last day of employment lies from ${from} to ${to}, and on the population of each connection at the
start and the end of this period. Rollcall made it at ${madeAt}.
${removedText(populations)}
  report.html      the report, to be read and printed; report.csv and report.json hold the same
  population/      the population of each connection, see step 4
  audit.jsonl      the audit entries about these people and the
                   population statements, with what proves them
  MANIFEST         the sha256 sum of each file
  MANIFEST.sig     the ed25519 signature of MANIFEST
  public-key.pem   the public half of the key of the installation
  verify.mjs       does the steps below; verify-population.mjs and verify-nights.mjs do step 4
                   for it

What you need: the public key of the installation, which you were given in another way than with this pack (audit-key.pub.pem of its data
folder). A pack with another key and another signature can be made by anybody, so compare the two:

  cmp public-key.pem audit-key.pub.pem

1. The list of files was signed with this key (openssl 3):

  openssl pkeyutl -verify -pubin -inkey audit-key.pub.pem -rawin -in MANIFEST -sigfile MANIFEST.sig

  It has to say: Signature Verified Successfully

2. Each file is the one in the list:

  sha256sum -c MANIFEST

3. The entries in audit.jsonl are a part of the audit trail as it was signed. Read its lines in order, with "at" = 0 and "hash" = 64 zeros:

  start   at = after, hash = hash
  entry   ordinal must be at + 1 and becomes at; hash = sha256(hash, line end, sha256(entry))
  link    the same with digest in place of sha256(entry): an entry about other people, which is not shown
  head    ordinal must be at, hash must be hash, and signature must be valid under key for five lines, each with a line end:
          "rollcall audit head", ordinal, previous, hash, at

  Hashes are small hexadecimals, and are hashed again in that form. The file ends with a head whose key is the one you were given.

4. Who came and who left. In the folder of each connection below population/:

  statement-start.json, statement-end.json   the population statements before and at the end of the period: how many people HR stated
                 and the platform had, by part. "addsUp" must be true. The entry "statement.made" of audit.jsonl with the same runId
                 and time has the same counts and digests. So has each statement between them: verify.mjs says how many there are,
                 which do not add up, and where the longest time without one is
  start.txt, end.txt       who was employed on the platform, as it acknowledged
  entered.txt, left.txt    who came into the population and who left it; movements.csv has a line for each of them: the kind, the run,
                 the row of HR's export and the answer of the platform
  accounted-end.csv        the part of everybody. The statement at the end has as many people in each part as this has lines, and
                 end.txt is everybody who is employed on the platform and not created by others (part foreign):

    grep -c ',true,"left",' accounted-end.csv        # "left" of "parts" of "stated"
    grep -c ',false,"absent","' accounted-end.csv    # "absent" of "parts" of "platform"

  export-end.txt           the digest and the key of everybody in HR's newest export; of people who were forgotten, the digest only
  removed.txt              the statements of the period that were made and are no longer kept: when, and after which run

  Who was there at the start and who came are who is there at the end and who left:

    LC_ALL=C sort start.txt entered.txt > a; LC_ALL=C sort end.txt left.txt > b; cmp a b

  The keys are those that the statement sums up as "keys" of "export":

    cut -c 1-64 export-end.txt | sha256sum

  The digest of a key is made from "installation" and "connection" of the statement and the key. For one of them:

    printf '%s\\n%s\\n%s' INSTALLATION CONNECTION KEY | sha256sum

  A key that begins with "forgotten:" is that digest of somebody whose data was removed on request.

  With the export of that night, which HR has, its file has the SHA-256 that the statement names, and Rollcall reads it again by the rules
  of its connection:

    sha256sum FILE
    rollcall statement verify --export FILE --pack ZIP

All but the last step at once, with Node.js 20 or newer, which needs nothing else:

  node verify.mjs audit-key.pub.pem

The scripts are short, so that you can read them before you run them. verify.mjs exits with 0 if everything is valid, and with 2 if
everything is as it was signed, but a population statement at the start or the end does not add up.
`
}
