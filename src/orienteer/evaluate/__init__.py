"""How good is a policy? Several of them on one graph whose truth is known: what each covers, proves and costs."""
