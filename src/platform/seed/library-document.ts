import { z } from 'zod'
import { FrameworkTag, maxShortTextLength, maxUrlLength, text } from '../../contract/platform/common.ts'
import { ControlCategory, ControlDomain, TrustServiceCriterion } from '../../contract/platform/control-classes.ts'
import { checkKnown, checkKnownKeys, checkUnique, type DocumentCheck } from '../core/document-checks.ts'
import { Code, LongText, Name } from '../core/input-texts.ts'

/** Maximum length of the question and the activity of a control. */
export const maxPromptLength = maxUrlLength

const maxInteger = 2_147_483_647

/** The name by which a document refers to a framework. */
export const FrameworkSlug = text(maxShortTextLength).regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, {
  error: 'must be lower-case letters and digits, joined by single hyphens',
})

const Prompt = text(maxPromptLength).min(1)

const LibraryRequirement = z.strictObject({
  name: Name.describe('Its number in the framework, such as CC6.1; unique in the framework.'),
  description: LongText,
  longDescription: LongText.optional(),
  additionalInfo: LongText.optional(),
  additionalInfo2: LongText.optional(),
  additionalInfo3: LongText.optional(),
})

/** A framework of the library with its requirements. */
export const LibraryFramework = z.strictObject({
  tag: FrameworkTag,
  slug: FrameworkSlug.describe('How the rest of the document names it; unique.'),
  name: Name,
  pill: Name.describe('Its name where there is little room.'),
  description: LongText,
  requirements: z.array(LibraryRequirement),
})
export type LibraryFramework = z.infer<typeof LibraryFramework>

const LibraryTest = z.strictObject({
  name: Name,
  description: LongText.optional(),
  rating: z.enum(['RECOMMENDED', 'STRONGLY_RECOMMENDED']),
  source: z.enum(['DRATA', 'CUSTOM', 'EXTERNAL', 'ACORN', 'DRATA_LIBRARY']),
})

const LibraryPolicy = z.strictObject({ name: Name, description: LongText })

const LibraryEvidence = z.strictObject({
  code: Code,
  name: Name,
  requestDescription: LongText.optional(),
  implementationGuidance: LongText.optional(),
})

const LibraryRisk = z.strictObject({ code: Code, name: Name, description: LongText })

/** A control template of the library with its mappings. */
export const LibraryControl = z.strictObject({
  code: Code,
  number: z.int().min(1).max(maxInteger),
  name: Name,
  description: LongText,
  question: Prompt.describe('What an auditor would ask the owner.'),
  activity: Prompt.describe('What the owner does again and again.'),
  domain: ControlDomain,
  category: ControlCategory,
  tests: z.array(Name).default([]).describe('Names of tests of this library.'),
  policies: z.array(Name).default([]).describe('Names of policies of this library.'),
  evidence: z.array(Code).default([]).describe('Codes of evidence of this library.'),
  risks: z.array(Code).default([]).describe('Codes of risks of this library.'),
  requirements: z
    .record(FrameworkSlug, z.array(Name))
    .default({})
    .describe('Names of requirements by the slug of their framework.'),
  topics: z.array(TrustServiceCriterion).default([]),
})
export type LibraryControl = z.infer<typeof LibraryControl>

/** A library of control templates with their mappings. All names and codes must resolve inside the document. */
export const LibraryDocument = z
  .strictObject({
    frameworks: z.array(LibraryFramework),
    tests: z.array(LibraryTest),
    policies: z.array(LibraryPolicy),
    evidence: z.array(LibraryEvidence),
    risks: z.array(LibraryRisk),
    controls: z.array(LibraryControl),
  })
  .check((checking) => {
    checkNames(checking)
    checkMappings(checking)
  })
export type LibraryDocument = z.infer<typeof LibraryDocument>

function checkNames(checking: DocumentCheck<LibraryDocument>): void {
  const { frameworks, tests, policies, evidence, risks, controls } = checking.value
  const lists = [
    { path: ['frameworks'], noun: 'slug', values: frameworks.map(({ slug }) => slug) },
    { path: ['tests'], noun: 'name', values: tests.map(({ name }) => name) },
    { path: ['policies'], noun: 'name', values: policies.map(({ name }) => name) },
    { path: ['evidence'], noun: 'code', values: evidence.map(({ code }) => code) },
    { path: ['risks'], noun: 'code', values: risks.map(({ code }) => code) },
    { path: ['controls'], noun: 'code', values: controls.map(({ code }) => code) },
    { path: ['controls'], noun: 'number', values: controls.map(({ number }) => number) },
  ]
  for (const list of lists) checkUnique(checking, list)
  for (const [index, { requirements }] of frameworks.entries()) {
    const path = ['frameworks', index, 'requirements']
    checkUnique(checking, { path, noun: 'name', values: requirements.map(({ name }) => name) })
  }
}

function checkMappings(checking: DocumentCheck<LibraryDocument>): void {
  const { frameworks, tests, policies, evidence, risks, controls } = checking.value
  const known = {
    tests: new Set(tests.map(({ name }) => name)),
    policies: new Set(policies.map(({ name }) => name)),
    evidence: new Set(evidence.map(({ code }) => code)),
    risks: new Set(risks.map(({ code }) => code)),
    frameworks: new Map(
      frameworks.map(({ slug, requirements }) => [slug, new Set(requirements.map(({ name }) => name))]),
    ),
  }
  for (const [index, control] of controls.entries()) {
    const lists = [
      { path: ['tests'], noun: 'test', values: control.tests, known: known.tests },
      { path: ['policies'], noun: 'policy', values: control.policies, known: known.policies },
      { path: ['evidence'], noun: 'evidence', values: control.evidence, known: known.evidence },
      { path: ['risks'], noun: 'risk', values: control.risks, known: known.risks },
      ...Object.entries(control.requirements).map(([slug, values]) => ({
        path: ['requirements', slug],
        noun: `requirement of the framework "${slug}"`,
        values,
        known: known.frameworks.get(slug) ?? new Set<string>(),
      })),
    ]
    for (const list of lists) {
      const path = ['controls', index, ...list.path]
      checkKnown(checking, { ...list, path })
      checkUnique(checking, { path, noun: list.noun, values: list.values })
    }
    checkUnique(checking, { path: ['controls', index, 'topics'], noun: 'topic', values: control.topics })
    const slugs = Object.keys(control.requirements)
    checkKnownKeys(checking, {
      path: ['controls', index, 'requirements'],
      noun: 'framework',
      keys: slugs,
      known: known.frameworks,
    })
  }
}
