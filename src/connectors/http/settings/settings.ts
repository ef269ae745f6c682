import type { z } from 'zod'
import { checkExportFormat } from '../../file/format.ts'
import { contradictions } from './contradictions.ts'
import { HttpSettings } from './shape.ts'

/** The settings of a list of people that is fetched over HTTP: one CSV export, or JSON in one or more pages. */
export const HttpSource = HttpSettings.superRefine((source, context) => {
  checkExportFormat(source, context)
  for (const { path, message } of contradictions(source)) context.addIssue({ code: 'custom', path: [...path], message })
})
export type HttpSource = z.infer<typeof HttpSource>
