/** The total of an invoice as text, such as "36.00 EUR". */
export const totalOf = (count, price, currency) => `${(count * price).toFixed(2)} ${currency}`
