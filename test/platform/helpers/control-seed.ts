import { SeedDocument } from '../../../src/platform/seed/document.ts'
import { entitlement } from './platforms.ts'

export const seededPeople = ['ana', 'ben', 'cleo'].map((name) => ({
  email: `${name}@acme.example`,
  firstName: name,
  lastName: 'Test',
}))

const prompts = { description: 'What it is for.', question: 'How?', activity: 'Look at it.' }

/** A library of four templates in two frameworks. */
export const seededLibrary = {
  frameworks: [
    {
      tag: 'SOC_2',
      slug: 'soc2',
      name: 'SOC 2',
      pill: 'SOC',
      description: 'Trust services.',
      requirements: [
        { name: 'CC1.1', description: 'Integrity.', longDescription: 'At length.', additionalInfo: 'More.' },
        { name: 'CC6.1', description: 'Access.' },
      ],
    },
    {
      tag: 'ISO270012022',
      slug: 'iso27001',
      name: 'ISO 27001',
      pill: 'ISO',
      description: 'Management of security.',
      requirements: [{ name: 'A.5', description: 'Policies.' }],
    },
  ],
  tests: [{ name: 'MFA is on', rating: 'RECOMMENDED', source: 'DRATA' }],
  policies: [{ name: 'Access Policy', description: 'Who may do what.' }],
  evidence: [{ code: 'EV-1', name: 'Access review', requestDescription: 'The last review.' }],
  risks: [{ code: 'R-1', name: 'Theft', description: 'Somebody takes it.' }],
  controls: [
    {
      code: 'LIB-1',
      number: 1,
      name: 'Access is reviewed',
      ...prompts,
      domain: 'PRODUCT_SECURITY',
      category: 'ACCESS_CONTROL',
      tests: ['MFA is on'],
      policies: ['Access Policy'],
      evidence: ['EV-1'],
      risks: ['R-1'],
      requirements: { soc2: ['CC1.1', 'CC6.1'], iso27001: ['A.5'] },
      topics: ['SECURITY'],
    },
    {
      code: 'LIB-2',
      number: 2,
      name: 'Backups 100% done_',
      ...prompts,
      domain: 'AVAILABILITY',
      category: 'BACKUPS',
      requirements: { iso27001: ['A.5'] },
    },
    { code: 'LIB-10', number: 10, name: 'Zones', ...prompts, domain: 'GENERAL', category: 'MANAGEMENT' },
    { code: 'LIB-9', number: 9, name: 'accounts end', ...prompts, domain: 'GENERAL', category: 'MANAGEMENT' },
  ],
}

/** An account with two workspaces; the first has controls of every kind. */
export function controlSeed(name: string, entitlements: readonly string[] = []) {
  return SeedDocument.parse({
    library: seededLibrary,
    accounts: [
      {
        name,
        entitlements: [entitlement, 'CUSTOM_FRAMEWORKS', ...entitlements],
        termsAcceptedAt: '2026-01-01T00:00:00Z',
        people: seededPeople,
        customFields: [{ name: 'Month', type: 'TEXT', entityTypes: ['CONTROL'] }],
        policies: [
          { name: 'Our Access Policy', description: 'Ours.', template: 'Access Policy' },
          { name: 'Spare Policy', description: 'Of no use.' },
        ],
        workspaces: [
          {
            name: 'Cloud',
            primary: true,
            frameworks: ['soc2'],
            tests: [
              { name: 'MFA', template: 'MFA is on' },
              { name: 'Broken', status: 'FAILED', monitored: false },
            ],
            evidence: [
              { name: 'Review', template: 'EV-1', kind: 'REPORT', validUntil: '2026-03-02' },
              { name: 'Letter', kind: 'EXTERNAL', validUntil: '2026-03-01' },
              { name: 'Certificate', kind: 'EXTERNAL' },
            ],
            controls: [
              {
                template: 'LIB-1',
                owners: ['ana@acme.example', 'BEN@acme.example'],
                notes: [{ by: 'ana@acme.example', comment: 'Looked at.' }],
              },
              {
                template: 'LIB-1',
                code: 'LIB-1.1',
                name: 'Again',
                tests: ['Broken'],
                policies: [],
                evidence: [],
                requirements: {},
              },
              {
                code: 'OWN-1',
                name: 'Letters',
                description: 'Kept.',
                owners: ['cleo@acme.example'],
                evidence: ['Letter'],
              },
              {
                code: 'OWN-2',
                name: 'Certificates',
                description: 'Kept.',
                owners: ['cleo@acme.example'],
                evidence: ['Certificate'],
              },
              {
                code: 'OLD-1',
                name: 'Fax',
                description: 'Sent.',
                archived: { rationale: 'No fax.' },
                ticket: 'ARCHIVED',
              },
              {
                code: 'OFF-1',
                name: 'Later',
                description: 'Not yet.',
                enabled: false,
                ticket: 'IN_PROGRESS',
                policies: ['Our Access Policy'],
              },
            ],
          },
          { name: 'Pay', frameworks: ['iso27001'], controls: [{ template: 'LIB-2' }] },
        ],
      },
    ],
  })
}
