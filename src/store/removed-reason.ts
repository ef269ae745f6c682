/** Replaces a reason that may quote a cell. */
export const removedReason = 'its reason was removed with the values'
