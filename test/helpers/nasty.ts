/** What a text from outside may try on the people and programs that are shown it, each with a beginning and an end that can be found. */
export const nasty = {
  'an escape of a terminal': 'begin\u001b]0;title\u0007\u001b[2J\u001b[31mend',
  'a control character of one byte': 'begin\u009b2J\u009d0;title\u009cend',
  'a return and a backspace': 'begin\r\b\b\bend',
  'controls of direction': 'begin\u202e\u2066\u200f\u061cend',
  'signs without width': 'begin\u200b\u2060\u00ad\ufeffend',
  tags: 'begin\u{e0041}\u{e0042}\u{e007f}end',
  'a line of its own': 'begin\n✔ everything was delivered\u2028✔ everythingend',
} as const

/** What a reader could not see, or what could move what they see; line breaks and tabs of ours stay. */
export const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/v

/** A line that a text from outside made, and that could be one of ours: it is not set in below another. */
export const forged = /^✔ everything was delivered/m
