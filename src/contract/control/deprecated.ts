import type { z } from 'zod'

/** Deprecated: removed after 0.1. A field under its old name, beside the field `newName` with the same value. */
export function deprecatedName<T extends z.ZodType>(schema: T, newName: string) {
  return schema.optional().meta({
    deprecated: true,
    description: `Deprecated: removed after 0.1. The same as \`${newName}\`.`,
  })
}
