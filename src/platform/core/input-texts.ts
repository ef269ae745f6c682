import { z } from 'zod'
import { maxLongTextLength, maxShortTextLength, text } from '../../contract/platform/common.ts'

/** The longest code of a control. */
const codeLimit = 20

/** How the operator names things of the platform. */
export const Name = text(maxShortTextLength).min(1)

export const Code = text(codeLimit).min(1)

export const LongText = text(maxLongTextLength).min(1)

// The database knows no year 0, and four digits hold no year after 9999.
export const Day = z.iso.date().refine((day) => day >= '1000-01-01', { error: 'must lie after the year 999' })
