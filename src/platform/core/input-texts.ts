import { z } from 'zod'
import { maxLongTextLength, maxShortTextLength, text } from '../../contract/platform/common.ts'

/** Maximum length of a code, in characters. */
const maxCodeLength = 20

/** A name that the operator gives. */
export const Name = text(maxShortTextLength).min(1)

/** A code of a control or another object of a workspace. */
export const Code = text(maxCodeLength).min(1)

/** A text for people, of one character at least. */
export const LongText = text(maxLongTextLength).min(1)

/** A day, such as 2026-01-31, from the year 1000 on: PostgreSQL has no year 0. */
export const Day = z.iso.date().refine((day) => day >= '1000-01-01', { error: 'must lie after the year 999' })
