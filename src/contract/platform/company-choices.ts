import { z } from 'zod'

/** How a company trains people in security. */
export const SecurityTrainingType = z
  .enum([
    'ESET',
    'LINK_PROVIDED',
    'DRATA_PROVIDED',
    'MANUAL',
    'CURRICULA',
    'KNOWBE4',
    'STACKONE_EASY_LLAMA',
    'MANUAL_EVIDENCE_FIRST',
    'STACKONE_CORNERSTONE',
    'STACKONE_DOCEBO',
    'STACKONE_GO1',
    'STACKONE_LINKEDIN_LEARNING',
    'STACKONE_SAP_LEARNING',
    'STACKONE_WORKDAY_LEARNING',
    'STACKONE_360LEARNING',
    'STACKONE_BRAINIER',
    'STACKONE_COURSERA',
    'STACKONE_XYLEME',
    'STACKONE_INFOSEC',
    'STACKONE_UDEMY',
    'STACKONE_PEOPLE_FLUENT',
  ])
  .meta({ id: 'SecurityTrainingTypeEnum' })
export type SecurityTrainingType = z.infer<typeof SecurityTrainingType>

/** How a company trains people in HIPAA. */
export const HipaaTrainingType = z
  .enum(['DRATA_PROVIDED', 'LINK_PROVIDED', 'MANUAL', 'NOT_REQUIRED', 'KNOWBE4', 'MANUAL_EVIDENCE_FIRST'])
  .meta({ id: 'HipaaTrainingTypeEnum' })
export type HipaaTrainingType = z.infer<typeof HipaaTrainingType>

/** Who checks the background of new people. */
export const BackgroundCheckType = z
  .enum(['KARMACHECK', 'MANUAL', 'CERTN', 'CHECKR', 'HRIS_RIPPLING', 'STERLING', 'HIRERIGHT', 'VETTY'])
  .meta({ id: 'BackgroundCheckTypeEnum' })
export type BackgroundCheckType = z.infer<typeof BackgroundCheckType>

/** The languages of a company. */
export const Language = z
  .enum(['ENGLISH_US', 'SPANISH_LA', 'GERMAN_DE', 'FRENCH_FR', 'ITALIAN_IT', 'DUTCH_NL', 'PSEUDO', 'PSEUDOX'])
  .meta({ id: 'LanguageEnum' })
export type Language = z.infer<typeof Language>
