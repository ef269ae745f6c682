/** Maximum number of attempts whose times are stored with a batch. */
export const maxRecentAttempts = 10
